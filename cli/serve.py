"""`turnback serve` and `turnback demo`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from turnback.cli.logs import configure_logs
from turnback.cli.options import Config, Data, settings
from turnback.config import Loaded

Host = Annotated[str | None, typer.Option("--host", help="Address to listen on; default: web.host.")]
Port = Annotated[int | None, typer.Option("--port", min=0, max=65535, help="0: a free one; default: web.port.")]


def serve(config: Config = None, data: Data = None, host: Host = None, port: Port = None) -> None:
    """Run the service."""
    _run(settings(config, data, web_host=host, web_port=port), demo=False)


def demo(config: Config = None, data: Data = None, host: Host = None, port: Port = None) -> None:
    """Run the service with the demo agent: everything on, no key, offline; prints a sign-in link."""
    given = {"web_host": host, "web_port": port, "agent_kind": "demo", "agent_shell": "confined"}
    _run(settings(config, data, **given), demo=True)


def _run(loaded: Loaded, *, demo: bool) -> None:
    from turnback.cli.serving import serve  # noqa: PLC0415 - takes seconds, and no other command needs it

    configure_logs()
    asyncio.run(serve(loaded, demo=demo))
