"""What an agent is to Turnback: anything that turns (state, text) into events ending in a new state.

The protocol is structural: an agent need not import Turnback. It yields dicts:

    {"type": "delta", "text": str}                        a piece of the answer, to be shown at once
    {"type": "step", "state": dict, "model"?: str, "tools"?: [str]}
                                                          one iteration is finished, its tools have run
    {"type": "gate", "tool": str, "args": any, "id"?: str, "state"?: dict}
                                                          a tool call waits for an approval
    {"type": "done", "state": dict, "text": str}          the end, with the whole answer

After its gates it asks `await context.approvals()`, which answers `{id: bool}` for every gate since
the last time. An agent whose gates carry a `state` and that has `resume` survives a restart while it
waits: `resume(state, approvals, context)` goes on where that gate stood.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from turnback.core.models import Fact, State, ThreadId


class Context(Protocol):
    """What a turn offers to its agent."""

    @property
    def thread_id(self) -> ThreadId:
        """Which conversation this is; it has no place in the agent's state."""
        ...

    @property
    def workspace(self) -> Path:
        """The thread's folder for files; it exists."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the agent is to be told once, before this turn's text (such as a lesson)."""
        ...

    @property
    def files(self) -> Sequence[str]:
        """The paths in the workspace that came with this turn's text, which names them: `[file: inbox/a.jpg]`."""
        ...

    async def approvals(self) -> Mapping[str, bool]:
        """The answers to the gates yielded since the last call, by gate id; waits for people."""
        ...

    async def remember(self, text: str) -> Fact | None:
        """Keep a fact with this turn; None when the thread's memory is off."""
        ...

    async def recall(self) -> Sequence[Fact]:
        """The facts on the path, oldest first."""
        ...

    async def turns(self) -> Sequence[tuple[int, str]]:
        """The turns on the path before this one: turn index and summary, oldest first."""
        ...

    def undo(self, n: int = 1) -> None:
        """Ask for this turn and the `n` before it to be undone when this turn ends."""
        ...

    def redo(self) -> None:
        """Ask for the last undo to be reversed when this turn ends; this turn goes, too."""
        ...


@runtime_checkable
class Agent(Protocol):
    """A chat agent.

    Optional beside `run`: `resume(state, approvals, context)`; `finish(state) -> state`, if its states
    need more than `state.finish` does; `aclose()`, called when the service ends; `quiet_tools`, the names
    of tools that are read-only or change the state alone (all others count as effects that stay).
    """

    def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        """Answer `text`, continuing from `state` (`{}` at the beginning)."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """An agent whose turns survive a restart while they wait at gates."""

    def resume(self, state: State, approvals: Mapping[str, bool], context: Context) -> AsyncIterator[Mapping[str, Any]]:
        """Go on from a gate's state; the same events as `run`."""
        ...
