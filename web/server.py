"""Runs the web app on uvicorn: a free port if asked for, no access log (addresses of sign-in links are
secrets), and an end that open event streams cannot hold up.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI

from turnback.web.parts import Parts

GRACE_SECONDS = 4
"""How long requests may go on once the server ends."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def serve(
    app: FastAPI,
    *,
    host: str,
    port: int,
    on_listening: Callable[[str, int], None] | None = None,
    on_ending: Callable[[], object] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGINT, SIGTERM or `stop`.

    `on_listening` is told host and port once requests are answered; `on_ending` is called when they are about
    to be answered no more: what those under way wait for should end now. Raises OSError if the address cannot be
    bound.
    """
    with _bind(host, port) as listener:
        bound = int(listener.getsockname()[1])
        parts: Parts = app.state.parts
        parts.site.listens_on(host, bound)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=parts.site.is_behind_proxy,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )

        def end() -> None:
            parts.stream.close()
            if on_ending is not None:
                on_ending()

        server = _Server(config, end, lambda: on_listening and on_listening(host, bound))
        watch = asyncio.create_task(_stop_on(server, stop)) if stop else None
        try:
            await server.serve(sockets=[listener])
        finally:
            if watch:
                watch.cancel()


class _Server(uvicorn.Server):
    """uvicorn's server, but that the process outlives the signal, to close its stores."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None], on_start: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_exit = on_exit
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams first: they would never end by themselves."""
        self._on_exit()
        await super().shutdown(sockets)

    def leave(self) -> None:
        """End soon; a second time: at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave on a signal. uvicorn itself would raise it again at the end, and kill the process."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.leave)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)


async def _stop_on(server: _Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.leave()


def _bind(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    # with its protocol named, or asyncio leaves TCP_NODELAY off, and each answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((name, port))
        listener.listen(2048)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
