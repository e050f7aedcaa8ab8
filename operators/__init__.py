"""What an expression is and how it may change: the ground every other package stands on."""
