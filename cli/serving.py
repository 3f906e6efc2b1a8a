"""The service with its HTTP API, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from turnback.cli.compose import running
from turnback.cli.convert import bracketed, local_url
from turnback.cli.options import folder
from turnback.cli.output import fail
from turnback.cli.platforms import configure
from turnback.cli.server_file import Server, announced
from turnback.config import Loaded
from turnback.core.collector import settle_collector
from turnback.core.people import LOCAL, OPERATOR, People
from turnback.core.service import Turnback
from turnback.core.tasks import Tasks
from turnback.web.server import serve as serve_web

CLOSE_SECONDS = 5.0
"""How long closing may take after the last request, which had 4 s."""

TOKEN_LABEL = "server.json"  # noqa: S105 - the label of a token, no secret

_log = structlog.get_logger(__name__)


async def serve(loaded: Loaded, *, demo: bool) -> None:
    """Serve until SIGINT or SIGTERM; `demo`: say how to sign in."""
    stop = _stop_on_signals()
    async with AsyncExitStack() as stack:
        composed = await stack.enter_async_context(running(loaded))
        configured = configure(composed.live.settings, composed.service)
        platforms = await stack.enter_async_context(composed.platforms(configured.adapters))
        token = await stack.enter_async_context(_server_token(composed.service))
        link = await _demo_link(composed.service.people) if demo else None
        web = composed.live.settings.web
        tasks = Tasks()

        def on_listening(host: str, port: int) -> None:
            server = Server(url=local_url(host, port), token=token)
            stack.enter_context(announced(folder(loaded), server))
            settle_collector()
            _log.info(f"listening on http://{bracketed(host)}:{port}")
            if link:
                sys.stdout.write(composed.site.sign_in_url(link) + "\n")
                sys.stdout.flush()

        try:
            await serve_web(
                composed.app(configured.hooks, platforms.statuses),
                host=web.host,
                port=web.port,
                on_listening=on_listening,
                on_ending=lambda: tasks.start(composed.service.turns.close()),
                stop=stop,
            )
        except OSError as error:
            fail(f"cannot listen on {web.host} port {web.port}: {error.strerror}; choose another --port")
        _stop_on_signals()  # a second signal does not break the closing
        _cut_short()
        await platforms.finish()
        _log.info("ending")
    _log.info("ended")


def _stop_on_signals() -> asyncio.Event:
    """Set on SIGINT and SIGTERM, also those that come before the server listens."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


def _cut_short() -> None:
    """End the process even if closing hangs: supervisors kill soon after, and what is committed is safe."""

    def end() -> None:
        sys.stderr.write("closing took too long; ended\n")
        os._exit(1)

    timer = threading.Timer(CLOSE_SECONDS, end)
    timer.daemon = True
    timer.start()


@asynccontextmanager
async def _server_token(service: Turnback) -> AsyncIterator[str]:
    """The operator's token for server.json, while the server runs; those of killed servers go."""
    operator = await service.people.ensure_account(OPERATOR, admin=True)
    for secret in await service.threads.secrets(operator.id):
        if secret.label == TOKEN_LABEL:
            await service.threads.drop_secret(secret.digest)
    token = await service.people.create_token(operator, TOKEN_LABEL)
    try:
        yield token
    finally:
        await service.people.end_session(token)


async def _demo_link(people: People) -> str:
    return await people.create_link(await people.ensure_account(LOCAL, admin=True))
