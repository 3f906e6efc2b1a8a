"""`turnback chat`: a conversation in a terminal, with a server that runs somewhere."""

from __future__ import annotations

import sys

from turnback.bots.terminal import lines, prompt
from turnback.bots.terminal.client import Client, Problem
from turnback.bots.terminal.screens import Kind, LiveScreen, PlainScreen
from turnback.bots.terminal.session import Session


async def chat(url: str, token: str, *, thread: str | None = None, new: bool = False) -> int:
    """Talk until the user leaves; answers the exit code.

    `thread` names the conversation; without it, it is my newest, or with `new` a fresh one. Where
    stdin or stdout is no terminal, lines go in and answers come out as plain text.
    """
    try:
        client = Client(url, token)
        try:
            await _talk(client, thread, new)
        finally:
            await client.close()
    except Problem as problem:
        sys.stderr.write(f"{problem.detail}\n")
        return 1
    return 0


async def _talk(client: Client, thread: str | None, new: bool) -> None:
    screen = LiveScreen() if prompt.is_interactive() else PlainScreen(sys.stdout)
    session = Session(client, screen)
    try:
        await session.open(thread, new=new)
        if isinstance(screen, LiveScreen):
            screen.say("/help shows what can be asked; Ctrl-C stops an answer, Ctrl-D leaves.", Kind.HINT)
            await prompt.run(session, screen)
        else:
            await lines.run(session, sys.stdin)
    finally:
        await session.close()
