"""The terminal as an adapter: `turnback chat`, over HTTP, with the words of every other surface."""

from turnback.bots.terminal.chat import chat

__all__ = ["chat"]
