"""The chat platforms that the settings name, running beside the web server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from turnback.bots.desk import Desk
from turnback.bots.platform import Adapter, down_kind
from turnback.bots.presenting import Presenter
from turnback.bots.supervising import supervise
from turnback.config import Settings
from turnback.core.models import Surface
from turnback.core.service import Turnback
from turnback.web.parts import PlatformStatus

LAST_WORDS_SECONDS = 1.0
"""How long the ends of turns that the program's end interrupts may take to be shown."""

LEAVE_SECONDS = 3.0
"""How long the adapters may take to leave."""

CHAT_PLATFORMS = (Surface.TELEGRAM, Surface.DISCORD, Surface.SLACK)

_Message = MutableMapping[str, Any]
Hook = Callable[[_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]]
"""An ASGI application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The adapters that the settings name; `hooks` are what those that are called over HTTP listen with, by path."""

    adapters: Sequence[Adapter]
    hooks: Mapping[str, Hook] = field(default_factory=dict)


def configure(settings: Settings, service: Turnback) -> Configured:
    """Make the adapters. None is imported that is not used: their libraries take long."""
    adapters: list[Adapter] = []
    hooks: dict[str, Hook] = {}
    if settings.telegram.token is not None:
        from turnback.bots.telegram.adapter import TelegramAdapter  # noqa: PLC0415 - see above

        values = settings.telegram
        secret = values.webhook_secret
        telegram = TelegramAdapter(
            settings.telegram.token.get_secret_value(),
            service.threads,
            api_base_url=values.api_base_url,
            webhook_url=values.webhook_url,
            webhook_secret=secret.get_secret_value() if secret else None,
        )
        adapters.append(telegram)
        if values.webhook_url:
            hooks["/hooks/telegram"] = telegram.hook
    if settings.discord.token is not None:
        from turnback.bots.discord.adapter import DiscordAdapter  # noqa: PLC0415 - see above

        token = settings.discord.token.get_secret_value()
        proxy = discord_proxy(settings, os.environ)
        adapters.append(DiscordAdapter(token, service.threads, proxy=proxy, allow=lambda: settings.access.allow))
    if settings.slack.bot_token is not None:
        from turnback.bots.slack.adapter import SlackAdapter  # noqa: PLC0415 - see above

        slack = SlackAdapter(
            settings.slack.bot_token.get_secret_value(),
            service.threads,
            app_token=_secret(settings.slack.app_token),
            signing_secret=_secret(settings.slack.signing_secret),
            api_base_url=settings.slack.api_base_url,
            allow=lambda: settings.access.allow,
        )
        adapters.append(slack)
        if settings.slack.app_token is None:
            hooks["/hooks/slack"] = slack.hook
    return Configured(adapters=adapters, hooks=hooks)


def probes(settings: Settings) -> Iterator[tuple[str, Awaitable[str]]]:
    """A look at each platform that the settings name: as whom we are known there. Raises Down when awaited."""
    if settings.telegram.token is not None:
        from turnback.bots.telegram.adapter import probe  # noqa: PLC0415 - see above

        yield "telegram", probe(settings.telegram.token.get_secret_value(), settings.telegram.api_base_url)
    if settings.discord.token is not None:
        from turnback.bots.discord.adapter import probe as probe_discord  # noqa: PLC0415 - see above

        token = settings.discord.token.get_secret_value()
        yield "discord", probe_discord(token, discord_proxy(settings, os.environ))
    if settings.slack.bot_token is not None:
        from turnback.bots.slack.adapter import probe as probe_slack  # noqa: PLC0415 - see above

        slack = settings.slack
        yield (
            "slack",
            probe_slack(
                settings.slack.bot_token.get_secret_value(),
                _secret(slack.app_token),
                _secret(slack.signing_secret),
                slack.api_base_url,
            ),
        )


def discord_proxy(settings: Settings, environment: Mapping[str, str]) -> str | None:
    """The proxy to Discord: `discord.proxy`, or else the environment's, which its library does not read."""
    return settings.discord.proxy or environment.get("HTTPS_PROXY") or environment.get("https_proxy") or None


@dataclass(slots=True, kw_only=True)
class Platforms:
    """The adapters at work, from `async with` to its end. `finish` before what turns need is closed."""

    service: Turnback
    desk: Desk
    presenter: Presenter
    adapters: Sequence[Adapter]
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    async def __aenter__(self) -> Self:
        if self.adapters:
            self._tasks.append(asyncio.create_task(self.presenter.run()))
        for adapter in self.adapters:
            self._tasks.append(asyncio.create_task(supervise(adapter, self.service, self.desk, self.presenter)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in reversed(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LEAVE_SECONDS)
        for task in self._tasks:
            if task.done():
                with suppress(asyncio.CancelledError):
                    task.result()

    def statuses(self) -> list[PlatformStatus]:
        """How each platform is now, for the page."""
        return [self._status(surface) for surface in CHAT_PLATFORMS]

    def _status(self, surface: Surface) -> PlatformStatus:
        name = surface.value
        if all(adapter.name != name for adapter in self.adapters):
            return PlatformStatus(surface=surface, state="off")
        down = next((alert for alert in self.service.alerts.active if alert.kind == down_kind(name)), None)
        if down is not None:
            return PlatformStatus(surface=surface, state="trouble", detail=down.text)
        return PlatformStatus(surface=surface, state="running" if self.presenter.is_connected(name) else "starting")

    async def finish(self) -> None:
        """End the turns, and show that, while there still is a way to."""
        if not self.adapters:
            return
        await self.service.turns.close()
        await self.presenter.settle(LAST_WORDS_SECONDS)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
