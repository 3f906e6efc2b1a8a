"""`run_command`: one command in the workspace, with a limit on its time and its words.

Whatever the command left running in its process group is ended with it, so that nothing goes on
writing after the turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic_ai.exceptions import ApprovalRequired, ToolFailed

from turnback.core.agents.tools.sandbox import Place
from turnback.core.agents.work import ToolContext
from turnback.core.text import well_formed

MAX_OUTPUT = 65_536
"""Bytes of output that are kept; the rest is read and dropped."""

TIMEOUT = 120.0
"""Seconds that a command may take."""

DRAIN = 1.0
"""Seconds that the output is waited for once the command has ended."""


def command_tool(place: Place, *, asks: bool, timeout: float = TIMEOUT) -> Callable[..., Awaitable[str]]:
    """The tool for a place; `asks`: each call waits for an approval, unless it would be refused anyway."""

    async def run_command(ctx: ToolContext, command: str) -> str:
        """Run a shell command in the workspace and read what it prints.

        Args:
            command: The command line.
        """
        if "\0" in command or not command.strip():
            raise ToolFailed("give a command")
        if why := await asyncio.to_thread(place.refusal):
            raise ToolFailed(why)
        if asks and not ctx.tool_call_approved:
            raise ApprovalRequired
        return await _run(place, well_formed(command), ctx.deps.context.workspace, timeout)

    return run_command


async def _run(place: Place, command: str, workspace: Path, timeout: float) -> str:  # noqa: ASYNC109 - ends the group
    output = await _Output.open()
    start = asyncio.create_subprocess_exec(
        *place.words(command, workspace),
        cwd=workspace,
        env=dict(place.environment()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output.end,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        process, late = await _finish(asyncio.create_task(start), timeout)
        await output.drain()
    finally:
        output.close()
    text = output.text() or "(no output)\n"
    if late:
        raise ToolFailed(f"{text}[stopped after {timeout:g} seconds]")
    if process.returncode:
        raise ToolFailed(f"{text}[exit code {process.returncode}]")
    return text


async def _finish(starting: asyncio.Task[Process], timeout: float) -> tuple[Process, bool]:  # noqa: ASYNC109
    """Wait for the command and end what is left of its group; the process, and whether it was too late.

    A start goes on when the turn is stopped in the middle of it, so that its group is known and ended, too.
    """
    try:
        async with asyncio.timeout(timeout):
            await (await asyncio.shield(starting)).wait()
            late = False
    except TimeoutError:
        late = True
    finally:
        process = await asyncio.shield(starting)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
    return process, late


class _Output(asyncio.Protocol):
    """The reading end of a pipe, and what is kept of it; programs write to `end`."""

    def __init__(self) -> None:
        self._kept, self._dropped = bytearray(), 0
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport
        self.end: int

    @classmethod
    async def open(cls) -> _Output:
        ours, theirs = os.pipe()
        _, output = await asyncio.get_running_loop().connect_read_pipe(cls, os.fdopen(ours, "rb", 0))
        output.end = theirs
        return output

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        room = MAX_OUTPUT - len(self._kept)
        self._kept += data[:room]
        self._dropped += max(0, len(data) - room)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the end, however it came
        if not self._ended.done():
            self._ended.set_result(None)

    async def drain(self) -> None:
        """Read the rest; a program that left its group may hold the pipe, so not for ever."""
        self._close_end()
        await asyncio.wait({self._ended}, timeout=DRAIN)

    def close(self) -> None:
        self._close_end()
        self._transport.close()

    def _close_end(self) -> None:
        if self.end >= 0:
            os.close(self.end)
            self.end = -1

    def text(self) -> str:
        text = well_formed(self._kept.decode("utf-8", "replace"))
        if self._dropped:
            return f"{text}\n[{self._dropped} more bytes]\n"
        return text if not text or text.endswith("\n") else text + "\n"
