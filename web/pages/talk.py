"""A conversation as a page shows it: turns on the track, each with its steps, their tool calls and the answer.

Pure functions on what the service answers. Tool calls are read from the state at the head: a step knows
how many messages its state held, so what it added lies between its count and that of the step before it.
Where that does not fit (a compacted state, a missing step) only the names of its tools are shown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnback.core.lineage import Lineage, Path
from turnback.core.models import Action, Position, StepId, StepKind, StepView, Thread, TranscriptRow, Turn, TurnStatus
from turnback.core.text import well_formed
from turnback.core.threads.store import ThreadView
from turnback.core.views import Placed, turns_on

SHOWN = 40
"""Turns that a page shows unasked, the newest."""

MAIN_LENGTH, RESULT_LENGTH, DETAIL_LENGTH = 120, 60, 4000
"""Characters of a call's main argument and result in its line, and of each when it is opened."""

_MAIN = ("path", "file", "command", "cmd", "query", "url", "text", "name", "to", "channel")
"""Arguments that say most about a call, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call: in one line, and opened. `args` and `result` are empty where only the name is known."""

    name: str
    main: str = ""
    short: str = ""
    args: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTalk:
    """A step of a turn: what the agent said before it called tools, and the calls."""

    view: StepView
    said: str
    calls: tuple[Call, ...]
    last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The newest move of a chat's head, and who made it."""

    action: Action
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """Where turns were set aside. `back` brings them back while nothing newer lies on top; `tip` is their
    newest step that is left. `move` is what set them aside, where that was the last that happened."""

    turns: int
    steps: int
    at: StepView | None
    turn_index: int
    move: Moved | None
    back: str | None
    tip: StepId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTalk:
    """A turn with all that is shown of it, and the seams after it."""

    turn_no: int
    turn_index: int
    asked: tuple[TranscriptRow, ...]
    steps: tuple[StepTalk, ...]
    answers: tuple[TranscriptRow, ...]
    notes: tuple[TranscriptRow, ...]
    status: TurnStatus
    forks: tuple[Thread, ...]
    seams: tuple[Seam, ...]

    @property
    def last(self) -> StepTalk | None:
        """The newest step of the turn that is left."""
        return self.steps[-1] if self.steps else None

    @property
    def is_open(self) -> bool:
        """Whether it runs or waits."""
        return self.status in (TurnStatus.RUNNING, TurnStatus.APPROVAL_PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation, or the part of it from some turn on. `first` are the seams before its first turn."""

    turns: tuple[TurnTalk, ...]
    first: tuple[Seam, ...]
    earlier: int
    earlier_from: int | None
    steps_on_path: int
    steps_readable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a conversation is made of. `messages` are the readable ones of the state at the head; `moved` is
    the last move of its head; `forks` are the asker's own."""

    view: ThreadView
    placed: Placed
    rows: Sequence[TranscriptRow]
    messages: Sequence[Mapping[str, Any]]
    forks: Sequence[Thread]
    moved: Moved | None = None
    steps_readable: bool = True


def talk_of(source: Source, since: int | None = None) -> Talk:
    """The conversation from the turn numbered `since` on; without it, the newest turns."""
    path = source.placed.path
    steps = [v for v in source.placed.views() if v.on_path]
    by_turn = _steps_by_turn(source, steps)
    seams = _seams_by_turn(source, path)
    forks = _forks_by_turn(source.forks, steps)
    rows: dict[int, list[TranscriptRow]] = defaultdict(list)
    for row in source.rows:
        rows[row.turn_no].append(row)
    known = {t.turn_no: t for t in turns_on(source.view, path)}
    numbers = sorted({*rows, *known})
    shown = [n for n in numbers if n >= since] if since is not None else numbers[-SHOWN:]
    hidden = len(numbers) - len(shown)
    turns = tuple(
        _turn(n, known.get(n), rows[n], by_turn.get(n, []), forks.get(n, ()), seams.get(n, ())) for n in shown
    )
    return Talk(
        turns=turns,
        first=() if hidden else seams.get(None, ()),
        earlier=hidden,
        earlier_from=numbers[max(hidden - SHOWN, 0)] if hidden else None,
        steps_on_path=len(steps),
        steps_readable=source.steps_readable,
    )


def _turn(
    number: int,
    turn: Turn | None,
    rows: Sequence[TranscriptRow],
    steps: Sequence[StepTalk],
    forks: Sequence[Thread],
    seams: Sequence[Seam],
) -> TurnTalk:
    return TurnTalk(
        turn_no=number,
        turn_index=turn.turn_index if turn else rows[0].turn_index,
        asked=tuple(r for r in rows if r.role == "user"),
        steps=tuple(steps),
        answers=tuple(r for r in rows if r.role == "assistant"),
        notes=tuple(r for r in rows if r.role == "note"),
        status=turn.status if turn else TurnStatus.DONE,
        forks=tuple(forks),
        seams=tuple(seams),
    )


def _steps_by_turn(source: Source, steps: Sequence[StepView]) -> dict[int, list[StepTalk]]:
    """The steps of each turn. A fork's root belongs to the turn that it was copied from."""
    last_of = {_turn_no(source, v): v.step.id for v in steps}
    made: dict[int, list[StepTalk]] = defaultdict(list)
    before = 0
    for view in steps:
        number = _turn_no(source, view)
        follows = made[number][-1].view.step.iteration + 1 if made[number] else 0
        added = _added(source.messages, before, view.step.message_count)
        said, calls = _read(added, view.step.tools, gap=view.step.iteration > follows)
        made[number].append(StepTalk(view=view, said=said, calls=calls, last=last_of[number] == view.step.id))
        before = view.step.message_count
    return made


def _turn_no(source: Source, view: StepView) -> int:
    """A step's turn; a fork's root has none of its own, and stands where the copied rows end."""
    if view.step.turn_no or not source.rows:
        return view.step.turn_no
    below = [r.turn_no for r in source.rows if r.at.pos <= view.step.at.pos]
    return below[-1] if below else view.step.turn_no


def _added(messages: Sequence[Mapping[str, Any]], since: int, upto: int) -> Sequence[Mapping[str, Any]]:
    """The messages that a step added, but those before the newest message of the user."""
    if not since < upto <= len(messages):
        return ()
    added = messages[since:upto]
    asked = max((i for i, m in enumerate(added) if m["role"] == "user"), default=-1)
    return added[asked + 1 :]


def _read(added: Sequence[Mapping[str, Any]], tools: Sequence[str], *, gap: bool) -> tuple[str, tuple[Call, ...]]:
    """What was said before the calls, and the calls with their results; after a `gap` also those of the steps
    of the turn that are not there (a fork has its root only)."""
    called = [call for message in added for call in message["tool_calls"]]
    names = [call["name"] for call in called]
    if (names[len(names) - len(tools) :] if gap else names) != list(tools):
        return "", tuple(Call(name=name) for name in tools)
    results = [m["tool_result"] if m["tool_result"] is not None else m["text"] for m in added if m["role"] == "tool"]
    said = "\n\n".join(m["text"] for m in added if m["role"] == "assistant" and m["tool_calls"] and m["text"])
    padded = [*results, *([None] * len(called))]
    return said, tuple(_call(call, result) for call, result in zip(called, padded, strict=False))


def _call(call: Mapping[str, Any], result: Any) -> Call:
    args = call.get("args")
    shown = _shown(result)
    lines = shown.count("\n") + 1
    first = " ".join(shown.split())
    return Call(
        name=str(call["name"]),
        main=_cut(_main(args), MAIN_LENGTH),
        short=first if len(first) <= RESULT_LENGTH else f"{lines} lines" if lines > 1 else _cut(first, RESULT_LENGTH),
        args=args_text(args),
        result=_cut(shown, DETAIL_LENGTH),
    )


def _main(args: Any) -> str:
    if not isinstance(args, Mapping):
        return " ".join(_shown(args).split())
    for name in (*_MAIN, *args):
        if isinstance(args.get(name), str | int | float) and not isinstance(args[name], bool):
            return " ".join(str(args[name]).split())
    return ""


def args_text(args: Any) -> str:
    """A call's arguments, to be read."""
    return _cut(_shown(args), DETAIL_LENGTH)


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping) and all(not isinstance(v, Mapping | list) for v in value.values()):
        return well_formed("\n".join(f"{name}  {_plain(v)}" for name, v in value.items()))
    return well_formed(json.dumps(value, ensure_ascii=False, indent=1, default=str))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _forks_by_turn(forks: Iterable[Thread], steps: Sequence[StepView]) -> dict[int, tuple[Thread, ...]]:
    turn_of = {v.step.id: v.step.turn_no for v in steps}
    made: dict[int, tuple[Thread, ...]] = defaultdict(tuple)
    for fork in forks:
        if fork.forked_from and fork.forked_from.snapshot_id in turn_of:
            made[turn_of[fork.forked_from.snapshot_id]] += (fork,)
    return made


def _seams_by_turn(source: Source, path: Path) -> dict[int | None, tuple[Seam, ...]]:
    """Where what is set aside left the path, by the turn after which that was; None: before the first."""
    view, lineage = source.view, source.view.lineage
    turns = turns_on(view, path)
    aside: dict[Position, list[Turn]] = defaultdict(list)
    for turn in view.turns:
        if not path.covers(turn.start):
            aside[_leaves(lineage, path, turn.start)].append(turn)
    newest = view.returns[-1] if view.returns else None
    moved = _leaves(lineage, path, newest.to) if newest and not path.covers(newest.to) else None
    if newest and moved is None and newest.to != path.end:
        moved = path.end
    steps = source.placed.views()
    made: dict[int | None, tuple[Seam, ...]] = defaultdict(tuple)
    for left in sorted({*aside, *({moved} if moved else set())}, key=lambda p: p.pos):
        before = [t for t in turns if t.start.pos <= left.pos]
        gone = {t.turn_no for t in aside.get(left, [])}
        cut = [s for s in steps if s.step.kind is StepKind.STEP and not s.on_path]
        cut = [s for s in cut if _leaves(lineage, path, s.step.at) == left]
        if not gone and not cut:
            continue
        is_newest = newest is not None and left == moved
        made[before[-1].turn_no if before else None] += (
            Seam(
                turns=len(gone),
                steps=len(cut),
                at=next((v for v in reversed(steps) if v.on_path and v.step.at.pos <= left.pos), None),
                turn_index=before[-1].turn_index if before else view.thread.root_turn_index,
                move=source.moved if is_newest else None,
                back=newest.id if newest is not None and is_newest else None,
                tip=cut[-1].step.id if cut else None,
            ),
        )
    return made


def _leaves(lineage: Lineage, path: Path, at: Position) -> Position:
    """The last position of the path on the way to `at`, which is off it."""
    for branch, upto in lineage.path(at).upto.items():
        if branch in path.upto:
            return Position(branch, min(upto, path.upto[branch]))
    return Position(0, 0)
