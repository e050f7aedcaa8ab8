"""Evolve: symbolic regression from a task folder to a verified law."""

__version__ = "0.1.0"
