"""Puts the parts together: settings, service, chat commands and web app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI

from turnback.bots.dispatch import Dispatch, answer_command
from turnback.cli.convert import access, agent_of, time_travel, with_page
from turnback.cli.options import folder
from turnback.config import LiveSettings, Loaded, Settings
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service
from turnback.web.app import create_app
from turnback.web.guard import Site


class Rules:
    """The rules in force as the core knows them, made anew only when a setting has changed."""

    def __init__(self, settings: Settings) -> None:
        self._current: Callable[[], Settings] = lambda: settings
        self._made_from: Settings | None = None
        self._made: tuple[TimeTravel, Access] = (TimeTravel(), Access())

    def follow(self, live: LiveSettings) -> None:
        """Go by the settings of a running service from now on."""
        self._current = lambda: live.settings

    def time_travel(self) -> TimeTravel:
        """`time_travel.*`."""
        return self._rules()[0]

    def access(self) -> Access:
        """`access.*`."""
        return self._rules()[1]

    def _rules(self) -> tuple[TimeTravel, Access]:
        current = self._current()
        if current is not self._made_from:
            self._made_from, self._made = current, (time_travel(current), access(current))
        return self._made


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A service with its settings and its chat commands."""

    service: Turnback
    live: LiveSettings
    rules: Rules
    site: Site

    def app(self) -> FastAPI:
        """The web app over it."""
        dispatch = Dispatch(
            self.service,
            policy=self.rules.time_travel,
            links=self.site,
            settings=self.live,
        )
        return create_app(
            self.service, settings=self.live, commands=answer_command(self.service, dispatch), site=self.site
        )


@asynccontextmanager
async def running(loaded: Loaded, *, maintain: bool = True) -> AsyncIterator[Composed]:
    """Open everything that the settings name. `maintain`: with the daily clean-up."""
    loaded = await with_page(loaded)
    settings = loaded.settings
    agent = agent_of(settings)
    rules = Rules(settings)
    async with open_service(
        folder(loaded),
        agent=agent,
        policy=rules.time_travel,
        access=rules.access,
        workspaces=Path(settings.workspace.root) if settings.workspace.root else None,
        approval_timeout=settings.agent.approval_timeout,
        durability=settings.storage.durability,
        maintain=maintain,
    ) as service:
        live = LiveSettings(loaded, service.threads, lambda: datetime.now(UTC))
        rules.follow(live)
        for name in settings.access.admins:
            if ":" not in name:  # the others are platform users, made admins when they write
                await service.people.ensure_account(name, admin=True)
        site = Site(host=settings.web.host, port=settings.web.port, public_url=settings.web.public_url)
        yield Composed(service=service, live=live, rules=rules, site=site)
