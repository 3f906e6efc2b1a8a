"""Every surface that the scenarios run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from contract.scenarios import shared_discord, shared_slack, shared_telegram
from contract.scenarios.discord import FEATURES as DISCORD_FEATURES
from contract.scenarios.discord import discord
from contract.scenarios.driver import Driver, Feature, Setup
from contract.scenarios.shared import missing
from contract.scenarios.slack import FEATURES as SLACK_FEATURES
from contract.scenarios.slack import slack
from contract.scenarios.telegram import FEATURES, telegram
from contract.scenarios.terminal import TerminalDriver, terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """How Ann is brought to a surface, what it has, and why it may not be there (empty: it always is)."""

    open: Callable[[Path, Setup], AbstractAsyncContextManager[Driver]]
    features: frozenset[Feature]
    missing: str = ""


SURFACES: Mapping[str, Surface] = {
    "terminal": Surface(open=terminal, features=TerminalDriver.features),
    "telegram": Surface(open=telegram, features=FEATURES),
    "discord": Surface(open=discord, features=DISCORD_FEATURES),
    "slack": Surface(open=slack, features=SLACK_FEATURES),
    "telegram-second-opinion": Surface(
        open=shared_telegram.telegram, features=shared_telegram.FEATURES, missing=missing()
    ),
    "discord-second-opinion": Surface(open=shared_discord.discord, features=shared_discord.FEATURES, missing=missing()),
    "slack-second-opinion": Surface(open=shared_slack.slack, features=shared_slack.FEATURES, missing=missing()),
}
