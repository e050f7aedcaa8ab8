"""How a law is written down, to the letter of what outside scorers accept, and how what was written is verified."""
