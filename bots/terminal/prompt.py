"""The prompt for people: editing, history, completion, answers streaming above it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from turnback.bots.terminal.completion import Words
from turnback.bots.terminal.screens import Kind, LiveScreen
from turnback.bots.terminal.session import Session

HISTORY = "history"


class CommandHistory(FileHistory):
    """The history: commands in a file of the user's own, messages from the conversation itself.

    A message is kept nowhere but in its conversation, so that deleting that deletes it.
    """

    def __init__(self, path: Path, messages: Iterable[str] = ()) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        super().__init__(str(path))
        self._messages = list(messages)

    def load_history_strings(self) -> Iterable[str]:
        """Newest first: what was said in this conversation, then the commands of former times."""
        yield from reversed(self._messages)
        yield from super().load_history_strings()

    def store_string(self, string: str) -> None:
        """Write a command to the file; anything else stays in memory."""
        if string.startswith("/"):
            super().store_string(string)


def history_path() -> Path:
    """`$XDG_STATE_HOME/turnback/history`."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "turnback" / HISTORY


async def run(session: Session, screen: LiveScreen) -> None:
    """Prompt until the user leaves. Ctrl-C stops what runs, Ctrl-D leaves.

    The prompt is always there: what a line does goes on beside it, line after line.
    """
    prompt: PromptSession[str] = PromptSession(
        history=CommandHistory(history_path(), await session.past()),
        completer=Words(lambda: session.steps, lambda: session.chats),
        complete_while_typing=False,
        enable_history_search=True,
    )
    screen.changed = prompt.app.invalidate
    lines: asyncio.Queue[str] = asyncio.Queue()
    handling = asyncio.ensure_future(_handle_all(session, lines))

    def message() -> StyleAndTextTuples:
        above: StyleAndTextTuples = [("", screen.partial + "\n")] if screen.partial else []
        return [*above, ("bold", "› ")]

    try:
        with patch_stdout(raw=True), _interrupting(session):
            while not handling.done():
                try:
                    line = await prompt.prompt_async(message)
                except KeyboardInterrupt:
                    if not await session.interrupt():
                        screen.say("Nothing is running. Ctrl-D leaves.", Kind.HINT)
                    continue
                except EOFError:
                    return
                if session.leaves(line):
                    return
                lines.put_nowait(line)
        await handling
    finally:
        handling.cancel()


async def _handle_all(session: Session, lines: asyncio.Queue[str]) -> None:
    while True:
        await session.handle(await lines.get(), wait=False)


@contextmanager
def _interrupting(session: Session) -> Iterator[None]:
    """The prompt takes Ctrl-C as a key; in the moment between two prompts it comes as a signal, and does the same."""
    loop = asyncio.get_running_loop()
    stopping: set[asyncio.Task[bool]] = set()

    def interrupt() -> None:
        task = asyncio.ensure_future(session.interrupt())
        stopping.add(task)
        task.add_done_callback(stopping.discard)

    def on_signal(*_: object) -> None:
        loop.call_soon_threadsafe(interrupt)

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_interactive() -> bool:
    """Whether people sit at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()
