"""An installation with real settings, old steps and an audit trail, for tests of the admins' pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.world import Clock
from turnback.cli.convert import time_travel
from turnback.config import LiveSettings, load
from turnback.core.models import Surface
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.web.parts import PlatformStatus, utc_now

ENVIRONMENT = {"TURNBACK_TIME_TRAVEL__MAX_PER_TURN": "25", "TURNBACK_AGENT__API_KEY": "sk-environment"}

FILE = """
[time_travel]
retention_days = 90

[agent]
system_prompt = "Be short."

[telegram]
token = "1:from-the-file"
"""

PLATFORMS = (
    PlatformStatus(surface=Surface.TELEGRAM, state="running"),
    PlatformStatus(surface=Surface.DISCORD, state="trouble", detail="Discord does not work: <b>no</b> such token."),
    PlatformStatus(surface=Surface.SLACK, state="off"),
)


class Office:
    """The settings of a service, from a file and an environment, and the rules that follow them."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str] = ENVIRONMENT, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self.file = folder / "turnback.toml"
        self.file.write_text(FILE)
        self._loaded = load(self.file, environment=environment)
        self._clock = clock
        self.live: LiveSettings | None = None

    def furnish(self, service: Turnback) -> LiveSettings:
        """The settings over a service's store."""
        self.live = LiveSettings(self._loaded, service.threads, self._clock)
        return self.live

    def policy(self) -> TimeTravel:
        """`time_travel.*` as it is now."""
        return time_travel(self.live.settings if self.live else self._loaded.settings)


class Late(Clock):
    """A clock that is behind until it catches up with the time."""

    def __init__(self, days: float) -> None:
        super().__init__(datetime.now(UTC) - timedelta(days=days))
        self.behind = True

    def __call__(self) -> datetime:
        return super().__call__() if self.behind else datetime.now(UTC)

    def catch_up(self) -> None:
        """From now on it is right."""
        self.behind = False


def clock_of(*, days_ago: float) -> Late:
    """A clock that is so many days behind."""
    return Late(days_ago)
