"""Slack: an adapter on Bolt for Python, and the commands for a Bolt app that you already have."""

from turnback.bots.slack.adapter import SlackAdapter
from turnback.bots.slack.host import record, recorded, register

__all__ = ["SlackAdapter", "record", "recorded", "register"]
