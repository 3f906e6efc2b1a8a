"""The socket that the web server listens on."""

from __future__ import annotations

import socket

from turnback.web.server import _bind


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with _bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY only on such"
