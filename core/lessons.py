"""What was tried on a branch that ended badly, as one short note for whoever goes on from before it.

No model writes it: it is the tool calls and their errors, told by plain code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from turnback.core.agents.dialect import parts_of
from turnback.core.models import BEGINNING, Position, TurnStatus
from turnback.core.packs.bundle import Bundle
from turnback.core.packs.log import messages_of, size_of_messages
from turnback.core.state.codec import Encoded, loads
from turnback.core.threads.store import ThreadStore, ThreadView
from turnback.core.views import turns_on

MAX_CALLS = 8
"""Calls that a lesson names; the newest."""

MAX_WORDS = 160
"""Characters of a call's arguments, and of its error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A tool call, and the error it ended with, if it did."""

    tool: str
    args: Any
    error: str | None = None


async def lesson_of(
    threads: ThreadStore, view: ThreadView, left: Position, to: Position, content: Encoded | Bundle | None = None
) -> str | None:
    """The lesson of what leads to `left` and not to `to`; None if nothing went wrong there.

    `content` is the state at `to`, if that is not what is kept there.
    """
    way, kept = view.lineage.path(left), view.lineage.path(to)
    turns = turns_on(view, way)
    gone = [t for t in turns if not kept.covers(t.start)]
    parted = gone[0].base if gone else left
    if way.covers(to) and to != parted:  # the turn that `to` is in the middle of is left as well
        gone, parted = turns[-1 - len(gone) :], to
    state = await threads.checkpoint_bundle(view.thread.id, left, here=True)
    if state is None or not gone:
        return None
    if parted != to or content is None:
        content = await threads.checkpoint_bundle(view.thread.id, parted, here=True)
    if content is None and parted != BEGINNING:
        return None
    return lesson(tried(_since(state, content)), stopped=any(t.status is TurnStatus.STOPPED for t in gone))


def _since(state: Bundle, begun: Encoded | Bundle | None) -> Sequence[Any]:
    """The messages of a state that follow those of an earlier one; those that both have are not read."""
    known = 0
    if begun is not None:
        known = size_of_messages(begun) if isinstance(begun, Bundle) else len(begun.messages) - 1
    if known <= 1:
        return cast("Sequence[Any]", loads(messages_of(state) or b"[]"))
    rest = messages_of(state, known)
    try:
        return cast("Sequence[Any]", loads(b"[" + rest[1:])) if rest.startswith(b",") else ()
    except ValueError:  # the history was written anew in between
        return ()


def tried(messages: Sequence[Any]) -> list[Tried]:
    """The tool calls in stored messages of the built-in agent, in order, with their errors."""
    errors: dict[str, str] = {}
    calls: list[tuple[str, str, Any]] = []
    for part in (part for message in messages for part in parts_of(message)):
        call_id, kind = str(part.get("tool_call_id")), part.get("part_kind")
        if kind == "tool-call":
            calls.append((call_id, str(part.get("tool_name")), part.get("args")))
        elif kind == "retry-prompt" or (kind == "tool-return" and part.get("outcome", "success") != "success"):
            errors[call_id] = _words(part.get("content"))
    return [Tried(tool=name, args=args, error=errors.get(call_id)) for call_id, name, args in calls]


def lesson(calls: Sequence[Tried], *, stopped: bool = False) -> str | None:
    """The note, or None where nothing went wrong; `stopped`: the branch ended with a stop."""
    failures = sum(call.error is not None for call in calls)
    if not failures and not stopped:
        return None
    lines = ["An earlier attempt from here was set aside" + (" after it was stopped." if stopped else ".")]
    if calls:
        lines.append("It tried:" if len(calls) <= MAX_CALLS else f"It tried, at the end of {len(calls)} calls:")
        lines += [_line(call) for call in calls[-MAX_CALLS:]]
    lines.append("Do not repeat what failed; try another way." if failures else "Ask before trying the same again.")
    return "\n".join(lines)


def _line(call: Tried) -> str:
    outcome = "worked" if call.error is None else f"failed: {_clip(call.error)}"
    return f"- {call.tool} {_clip(_words(call.args))}: {outcome}"


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 1] + "…"
