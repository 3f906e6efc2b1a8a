"""Telegram: an adapter on python-telegram-bot, and the commands for a bot that you already have."""

from turnback.bots.telegram.adapter import TelegramAdapter
from turnback.bots.telegram.host import handlers, record, recorded

__all__ = ["TelegramAdapter", "handlers", "record", "recorded"]
