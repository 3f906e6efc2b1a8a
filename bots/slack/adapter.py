"""The adapter: connects to Slack, takes in what it tells by Socket Mode or HTTP, and lends out its outlet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from turnback.bots.commands import CATALOGUE
from turnback.bots.desk import Desk
from turnback.bots.platform import Down
from turnback.bots.presenting import Presenter
from turnback.bots.slack.directory import Directory, Me, who_am_i
from turnback.bots.slack.hook import Hook
from turnback.bots.slack.hosts import base_of
from turnback.bots.slack.intake import Intake
from turnback.bots.slack.listeners import ASSISTANT, Listeners, ignore_the_rest
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.pacing import Pacer
from turnback.bots.slack.reading import Json
from turnback.bots.slack.trouble import (
    APP_TOKEN_REFUSED,
    NETWORK,
    REFUSED,
    TOKEN_REFUSED,
    error_of,
    patience,
    unreachable,
)
from turnback.core.models import Surface
from turnback.core.threads.store import ThreadStore

REQUEST_SECONDS = 30
CONNECT_SECONDS = 20.0

PING_SECONDS = 5.0
"""How often the library looks after its connection."""

WATCH_SECONDS = 1.0
"""How often we look whether there is a connection."""

AWAY_SECONDS = 20.0
"""After so long without one the operator is told, and everything is made anew."""

LOOK_SECONDS = 60.0
"""How often we ask whether our token is still good: over HTTP nobody else tells us."""

COMMANDS = tuple(dict.fromkeys(usage.word for usage in CATALOGUE))
"""The slash commands, one for each first word. The manifest declares the same."""

_NO_WAY_IN = "Slack has no way to reach us: set slack.app_token (Socket Mode), or slack.signing_secret (/hooks/slack)."

_log = structlog.get_logger(__name__)


class SlackAdapter:
    """See `platform.Adapter`. With `app_token` it uses Socket Mode; else Slack calls `hook`.

    `allow` are the entries of access.allow: other bots are heard only where one of them is named there.
    """

    name = Surface.SLACK.value

    def __init__(
        self,
        bot_token: str,
        threads: ThreadStore,
        *,
        app_token: str | None = None,
        signing_secret: str | None = None,
        api_base_url: str | None = None,
        allow: Callable[[], Sequence[str]] = tuple,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        pacer: Pacer | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self.outlet = SlackOutlet(make_client(bot_token, api_base_url), pacer or Pacer())
        self.hook = Hook()
        self._threads = threads
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._api_base_url = api_base_url
        self._allow = allow
        self._clock = clock
        self._ping_seconds = ping_seconds
        self._intake: Intake | None = None

    async def run(self, desk: Desk, presenter: Presenter) -> None:
        """Work until cancelled. Raises `Down` when Slack cannot be worked with for the time being."""
        if not (self._app_token or self._signing_secret):
            raise Down(_NO_WAY_IN)
        self.outlet.refused.clear()
        me = await _asked(lambda: who_am_i(self.outlet.client), TOKEN_REFUSED)
        intake = self._intake = self._intake or self._make_intake(desk, me)
        app = self._make_app(intake, me)
        _log.info("connected", surface=self.name, bot=me.name)
        try:
            await (self._listen(app, intake, presenter) if self._app_token else self._serve(app, intake, presenter))
        except asyncio.CancelledError:
            await intake.close()
            raise
        finally:
            self.hook.close()
            presenter.remove(self.outlet)

    def _make_intake(self, desk: Desk, me: Me) -> Intake:
        """One for all runs: what it has begun goes on while Slack is away."""
        return Intake(
            self.outlet,
            self._threads,
            Directory(self.outlet.client, me),
            desk,
            api_base_url=self._api_base_url,
            is_allowed=lambda user: is_named(self._allow(), user),
            clock=self._clock,
        )

    def _make_app(self, intake: Intake, me: Me) -> AsyncApp:
        """The library would ask Slack who we are with the first request; we know."""

        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=me.team,
                bot_token=self.outlet.client.token,
                bot_id=me.bot,
                bot_user_id=me.user,
            )

        async def ours(_: Json) -> Intake:
            return intake

        app = AsyncApp(
            client=make_client(None, self._api_base_url),
            authorize=authorize,
            signing_secret=self._signing_secret or "",
            logger=_quiet(),
        )
        listeners = Listeners(ours)
        listeners.listen(app, COMMANDS, ())
        listeners.listen_to_leaving(app)
        app.event(ASSISTANT)(listeners.assistant)
        ignore_the_rest(app)
        return app

    async def _listen(self, app: AsyncApp, intake: Intake, presenter: Presenter) -> None:
        """Socket Mode. The library connects again by itself, and for ever; so we look how it goes."""
        handler = AsyncSocketModeHandler(app, self._app_token, ping_interval=self._ping_seconds)
        socket = handler.client
        try:
            opened = await _asked(
                lambda: socket.web_client.apps_connections_open(app_token=self._app_token or ""), APP_TOKEN_REFUSED
            )
            socket.wss_uri = opened["url"]
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await handler.connect_async()  # type: ignore[no-untyped-call]
            except TimeoutError:
                raise unreachable("no connection") from None
            presenter.add(self.outlet)
            await intake.redo()
            await self._watch(socket.is_connected)
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]

    async def _serve(self, app: AsyncApp, intake: Intake, presenter: Presenter) -> None:
        """HTTP."""
        self.hook.open(app)
        presenter.add(self.outlet)
        await intake.redo()
        await self._watch(None)

    async def _watch(self, is_connected: Callable[[], Any] | None) -> None:
        """Return never; raise when there is no connection for long, or no token any more."""
        loop = asyncio.get_running_loop()
        seen = looked = loop.time()
        while True:
            try:
                async with asyncio.timeout(WATCH_SECONDS):
                    await self.outlet.refused.wait()
                raise Down(TOKEN_REFUSED)
            except TimeoutError:
                pass
            now = loop.time()
            if is_connected is None or await is_connected():
                seen = now
            if now - seen > AWAY_SECONDS:
                raise unreachable("no connection")
            if now - looked > LOOK_SECONDS:
                looked = now
                await _asked(lambda: who_am_i(self.outlet.client), TOKEN_REFUSED)


def make_client(token: str | None, api_base_url: str | None) -> AsyncWebClient:
    """The library's client. Proxy and certificates come from the environment."""
    return AsyncWebClient(token=token, base_url=base_of(api_base_url), timeout=REQUEST_SECONDS, logger=_quiet())


def is_named(allow: Sequence[str], user: str) -> bool:
    """Whether access.allow names just this user or bot."""
    return f"{Surface.SLACK.value}:{user}".casefold() in map(str.casefold, allow)


async def probe(
    bot_token: str, app_token: str | None, signing_secret: str | None, api_base_url: str | None = None
) -> str:
    """Who we are to Slack, for `turnback check`. Raises `Down`."""
    if not (app_token or signing_secret):
        raise Down(_NO_WAY_IN)
    client = make_client(bot_token, api_base_url)
    me = await _asked(lambda: who_am_i(client), TOKEN_REFUSED)
    if app_token:
        await _asked(lambda: client.apps_connections_open(app_token=app_token), APP_TOKEN_REFUSED)
    return f"@{me.name} in {me.team}"


async def _asked(call: Callable[[], Any], refusal: str) -> Any:
    """Ask once, and wait once where Slack says for how long. Raises `Down`, without the library's words."""
    for again in (True, False):
        try:
            return await call()
        except SlackApiError as error:
            seconds = patience(error)
            if error_of(error) in REFUSED:
                raise Down(refusal) from None
            if not (again and seconds):
                raise unreachable(error_of(error)) from None
            await asyncio.sleep(seconds)
        except NETWORK as error:
            raise unreachable(type(error).__name__) from None
    raise AssertionError("the second try answers or raises")


def _quiet() -> logging.Logger:
    """The library logs addresses and payloads that are nobody's business; we log what matters ourselves."""
    logger = logging.getLogger("turnback.slack.library")
    logger.setLevel(logging.CRITICAL + 1)
    return logger
