"""`turnback chat`: finds the server to talk with, or starts one for as long as the chat goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from turnback.cli.api import borrowed_token
from turnback.cli.options import Config, Data, folder, settings
from turnback.cli.output import fail, progress
from turnback.cli.server_file import Server, find_server
from turnback.config import Loaded
from turnback.core.beside import open_people
from turnback.core.people import LOCAL

START_SECONDS = 60.0
"""How long a server of our own may take to answer."""

END_SECONDS = 10.0

LOOK_SECONDS = 0.1


def chat(
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]", help="A chat; none: the newest.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new chat.")] = False,
    url: Annotated[str | None, typer.Option("--url", help="A server elsewhere; needs --token.")] = None,
    token: Annotated[str | None, typer.Option("--token", envvar="TURNBACK_TOKEN", help="Token for --url.")] = None,
    account: Annotated[str, typer.Option("--account", help="Whose chats, on this machine's server.")] = LOCAL,
    config: Config = None,
    data: Data = None,
) -> None:
    """Talk with the agent in the terminal."""
    if bool(url) != bool(token):
        raise typer.BadParameter("--url and --token go together", param_hint="--url")
    if url and token:
        raise typer.Exit(asyncio.run(_talk(url.rstrip("/"), token, thread, new)))
    loaded = settings(config, data)
    arguments = [*(["--config", str(config)] if config else []), *(["--data", str(data)] if data else [])]
    raise typer.Exit(asyncio.run(_chat(loaded, arguments, account, thread, new)))


async def _talk(url: str, token: str, thread: str | None, new: bool) -> int:
    from turnback.bots.terminal import chat as talk  # noqa: PLC0415 - no other command draws a screen

    return await talk(url, token, thread=thread, new=new)


async def _chat(loaded: Loaded, arguments: list[str], account: str, thread: str | None, new: bool) -> int:
    async with (
        _server(loaded, arguments) as server,
        open_people(folder(loaded)) as people,
        borrowed_token(people, account) as token,
    ):
        return await _talk(server.url, token, thread, new)


@asynccontextmanager
async def _server(loaded: Loaded, arguments: list[str]) -> AsyncIterator[Server]:
    """The server of the data folder; one of our own where none runs, which ends with the chat."""
    found = await find_server(folder(loaded))
    if found is not None:
        yield found
        return
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "turnback.cli", "serve", "--port", "0", *arguments]
        # A session of its own, so that Ctrl-C stops an answer and not the server.
        child = subprocess.Popen(  # noqa: ASYNC220, S603 - our own program, started once
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            with progress("starting"):
                server = await _answering(loaded, child)
            if server is None:
                log.seek(0)
                fail(_last_words(log.read()))
            yield server
        finally:
            await _end(child)


async def _answering(loaded: Loaded, child: subprocess.Popen[bytes]) -> Server | None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while child.poll() is None:
                server = await find_server(folder(loaded))
                if server is not None:
                    return server
                await asyncio.sleep(LOOK_SECONDS)
    return None


async def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        await asyncio.to_thread(child.wait, END_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        await asyncio.to_thread(child.wait)


def _last_words(log: bytes) -> str:
    """Why the server did not start: its last line that is no log record, else its last event."""
    lines = [line for line in log.decode(errors="replace").splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith("{")]
    if plain:
        return plain[-1]
    with contextlib.suppress(ValueError, KeyError, IndexError):
        return f"the server did not start: {json.loads(lines[-1])['event']}"
    return "the server did not start"
