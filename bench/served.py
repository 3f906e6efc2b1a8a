"""Turnback as `turnback serve` puts it together, in a process of its own; `chats.py` starts it.

It writes down when each message is handed to the rate limiter of Telegram, and when that lets it go.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, cast

from turnback.bots.telegram import TelegramAdapter
from turnback.bots.telegram.pacing import Pacer
from turnback.cli.compose import running
from turnback.cli.logs import configure_logs
from turnback.cli.options import settings
from turnback.config import Loaded
from turnback.core.agents.load import load_agent
from turnback.core.agents.protocol import Context
from turnback.core.collector import settle_collector
from turnback.core.models import State
from turnback.web.server import serve as serve_web

READY = "ready"

GROWS = "tell"
"""An answer to what begins with this comes slowly, piece by piece, and so is shown by edits."""

PIECE_SECONDS = 0.3


class Growing:
    """The demo agent, some of whose answers take a while."""

    def __init__(self) -> None:
        self._demo = cast("Any", load_agent("demo"))
        self.quiet_tools = self._demo.quiet_tools

    async def run(self, state: State, text: str, context: Context) -> AsyncGenerator[Mapping[str, Any], None]:
        async with aclosing(self._demo.run(state, text, context)) as events:
            async for event in events:
                yield event
                if event["type"] == "delta" and text.startswith(GROWS):
                    await asyncio.sleep(PIECE_SECONDS)


class Noting(Pacer):
    """The rate limiter, whose ways in and out are noted: method, chat, time handed over, time first let go."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[dict[str, Any]] = []

    async def process_request(
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: None,
    ) -> Any:
        note = {"method": endpoint, "chat": data.get("chat_id"), "handed": time.time()}
        self.notes.append(note)

        async def go(*given: Any, **named: Any) -> Any:
            note.setdefault("went", time.time())
            return await callback(*given, **named)

        return await super().process_request(go, args, kwargs, endpoint, data, rate_limit_args)


async def serve(loaded: Loaded, pacer: Pacer) -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    values = loaded.settings.telegram
    assert values.token is not None
    async with AsyncExitStack() as stack:
        composed = await stack.enter_async_context(running(loaded))
        adapter = TelegramAdapter(
            values.token.get_secret_value(),
            composed.service.threads,
            api_base_url=values.api_base_url,
            pacer=pacer,
        )
        platforms = await stack.enter_async_context(composed.platforms([adapter]))
        await platforms.presenter.connected(adapter.name)

        def on_listening(host: str, port: int) -> None:
            settle_collector()
            print(READY, host, port, flush=True)

        app = composed.app({}, platforms.statuses)
        await serve_web(app, host="127.0.0.1", port=0, on_listening=on_listening, stop=stop)
        await platforms.finish()


def main() -> None:
    configure_logs()
    pacer = Noting()
    asyncio.run(serve(settings(None, Path("data")), pacer))
    Path(sys.argv[1]).write_text(json.dumps(pacer.notes), encoding="utf-8")


if __name__ == "__main__":
    main()
