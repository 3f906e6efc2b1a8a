"""Discord: an adapter on discord.py, and the commands for a bot that you already have."""

from turnback.bots.discord.adapter import DiscordAdapter
from turnback.bots.discord.host import TimeMachine, record, recorded, setup

__all__ = ["DiscordAdapter", "TimeMachine", "record", "recorded", "setup"]
