"""Turnback: time travel for chat agents, inside the chat."""

__version__ = "0.1.0"
