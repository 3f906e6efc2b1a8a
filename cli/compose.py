"""Puts the parts together: settings, service, chat commands and web app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI

from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch, answer_command
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Adapter
from turnback.bots.presenting import Presenter
from turnback.cli.convert import access, agent_of, time_travel, with_page
from turnback.cli.options import folder
from turnback.cli.platforms import Hook, Platforms
from turnback.config import LiveSettings, Loaded, Settings
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service
from turnback.web.app import create_app
from turnback.web.guard import Site
from turnback.web.parts import PlatformStatus


def _utc_now() -> datetime:
    return datetime.now(UTC)


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
    dispatch: Dispatch
    clock: Callable[[], datetime]

    def app(
        self,
        hooks: Mapping[str, Hook] | None = None,
        platforms: Callable[[], Sequence[PlatformStatus]] = lambda: (),
    ) -> FastAPI:
        """The web app over it; `hooks` and `platforms` as in `create_app`."""
        return create_app(
            self.service,
            settings=self.live,
            commands=answer_command(self.service, self.dispatch),
            site=self.site,
            hooks=hooks,
            platforms=platforms,
        )

    def platforms(self, adapters: Sequence[Adapter]) -> Platforms:
        """The chat layer over it, with these adapters."""
        presenter = Presenter(
            self.service, after_restore=lambda: self.live.settings.chat.after_restore, clock=self.clock
        )
        desk = Desk(
            self.service,
            self.dispatch,
            people=PlatformPeople(
                self.service,
                admins=lambda: self.live.settings.access.admins,
                allow=lambda: self.live.settings.access.allow,
                clock=self.clock,
            ),
            presenter=presenter,
            clock=self.clock,
        )
        return Platforms(service=self.service, desk=desk, presenter=presenter, adapters=tuple(adapters))


@asynccontextmanager
async def running(
    loaded: Loaded, *, maintain: bool = True, clock: Callable[[], datetime] = _utc_now
) -> AsyncIterator[Composed]:
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
        clock=clock,
    ) as service:

        async def appoint(current: Settings) -> None:
            await service.people.settle_admins(current.access.admins)

        live = LiveSettings(loaded, service.threads, clock, appoint)
        rules.follow(live)
        await appoint(settings)
        site = Site(host=settings.web.host, port=settings.web.port, public_url=settings.web.public_url)
        dispatch = Dispatch(service, policy=rules.time_travel, links=site, settings=live, clock=clock)
        yield Composed(service=service, live=live, rules=rules, site=site, dispatch=dispatch, clock=clock)
