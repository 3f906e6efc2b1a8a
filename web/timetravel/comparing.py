"""Two steps side by side: what they have in common, what only one has, what changed in the state."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnback.core.models import State
from turnback.core.text import counted
from turnback.web.timetravel.contents import Message, read_bounded, read_message
from turnback.web.timetravel.differences import Piece, word_marks
from turnback.web.timetravel.wording import on_one_line, shown, value_text

CHANGES_SHOWN = 200
MESSAGES_SHOWN = 120
"""Messages that a side shows."""

_VALUE_SHOWN = 600
_PAIRS_MARKED = 60
_COSTS_SHOWN = 2

_VERBS = {"add": ("+", "added"), "remove": ("−", "removed"), "replace": ("~", "changed")}

_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The messages of one side, with marks; `more` are not shown. `calls` and `turns` count."""

    messages: tuple[tuple[Message, tuple[Piece, ...]], ...]
    more: int
    turns: int
    calls: int

    @property
    def total(self) -> int:
        """How many messages only this side has."""
        return len(self.messages) + self.more

    @property
    def words(self) -> str:
        """`2 turns, 3 tool calls`."""
        return f"{counted(self.turns, 'turn')}, {counted(self.calls, 'tool call')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the state in words: what happened where, and the value on each side (None: not there)."""

    mark: str
    verb: str
    where: str
    a: tuple[Piece, ...] | None
    b: tuple[Piece, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All that the page shows of a comparison."""

    identical: bool
    common: int
    a: Side
    b: Side
    changes: tuple[Change, ...]
    more_changes: int
    costs: tuple[tuple[str, str, str], ...]
    model: tuple[str, str]
    files: tuple[tuple[str, str, str], ...] = field(default=())


def read_comparison(result: Mapping[str, Any], state_a: State) -> Comparison:
    """The service's answer about two steps, with the first one's state, which holds the values before."""
    only_a, only_b = result["only_a"], result["only_b"]
    marks_a, marks_b = _marks(only_a, only_b)
    changes = result["changes"]
    return Comparison(
        identical=result["identical"],
        common=result["common_messages"],
        a=_side(only_a, marks_a),
        b=_side(only_b, marks_b),
        changes=tuple(_changes(changes[:CHANGES_SHOWN], state_a)),
        more_changes=max(0, len(changes) - CHANGES_SHOWN),
        costs=tuple(_costs(result["cost"])),
        model=(_model(result["model"]["a"]), _model(result["model"]["b"])),
        files=tuple(_files(result["files"])),
    )


def read_common(messages: Sequence[Mapping[str, Any]], common: int) -> tuple[list[Message], int]:
    """The newest messages of the common beginning, and how many came before those."""
    first = max(0, common - MESSAGES_SHOWN)
    return read_bounded(messages[first:common]), first


def place(document: Any, pointer: str) -> str:
    """Where a JSON pointer leads, as people read it: `plan › 3 › do`. Items of a list count from 1."""
    parts = _parts(pointer)
    names = []
    for part in parts:
        in_list = isinstance(document, list) and part.isdecimal() and len(part) < 10
        names.append(str(int(part) + 1) if in_list else on_one_line(part, 60) or "“”")
        document = _item(document, part)
    return " › ".join(names) or "everything"


def _side(messages: Sequence[Mapping[str, Any]], marks: Mapping[int, tuple[Piece, ...]]) -> Side:
    shown_ones = read_bounded(messages[:MESSAGES_SHOWN])
    return Side(
        messages=tuple((message, marks.get(index, ())) for index, message in enumerate(shown_ones)),
        more=max(0, len(messages) - MESSAGES_SHOWN),
        turns=sum(message.get("role") == "user" for message in messages),
        calls=sum(len(message.get("tool_calls") or ()) for message in messages),
    )


def _marks(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> tuple[dict[int, tuple[Piece, ...]], dict[int, tuple[Piece, ...]]]:
    """Changed words, where the n-th message of a role on one side is like the n-th on the other."""
    by_place = {key: index for index, key in enumerate(_places(b))}
    marks_a: dict[int, tuple[Piece, ...]] = {}
    marks_b: dict[int, tuple[Piece, ...]] = {}
    for index, key in enumerate(_places(a)[:_PAIRS_MARKED]):
        other = by_place.get(key)
        if other is None:
            continue
        left, right = read_message(a[index]), read_message(b[other])
        if left.text and right.text and left.text != right.text:
            pieces = word_marks(left.text, right.text)
            marks_a[index], marks_b[other] = tuple(pieces[0]), tuple(pieces[1])
    return marks_a, marks_b


def _places(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    seen: dict[str, int] = {}
    places = []
    for message in messages:
        role = str(message.get("role"))
        seen[role] = seen.get(role, 0) + 1
        places.append((role, seen[role]))
    return places


def _changes(operations: Sequence[Mapping[str, Any]], state: State) -> list[Change]:
    """The operations in words. They apply in order, so the value before each is read as they are applied."""
    document: Any = copy.deepcopy({key: value for key, value in state.items() if key != "messages"})
    if not isinstance(state.get("messages"), list | tuple) and "messages" in state:
        document["messages"] = copy.deepcopy(state["messages"])
    changes = []
    for operation in operations:
        op, pointer = str(operation["op"]), str(operation["path"])
        where = place(document, pointer)
        before = _apply(document, op, pointer, operation.get("value"))
        mark, verb = _VERBS.get(op, ("~", op))
        old = None if op == "add" or before is _ABSENT else _value(before)
        new = None if op == "remove" else _value(operation.get("value"))
        a, b = _side_by_side(old, new)
        changes.append(Change(mark=mark, verb=verb, where=where, a=a, b=b))
    return changes


def _side_by_side(old: str | None, new: str | None) -> tuple[tuple[Piece, ...] | None, tuple[Piece, ...] | None]:
    if old is not None and new is not None:
        left, right = word_marks(old, new)
        return tuple(left), tuple(right)
    return (
        None if old is None else (("same", old),),
        None if new is None else (("same", new),),
    )


def _apply(document: Any, op: str, pointer: str, value: Any) -> Any:
    """Do an operation to the document; answers what was there before."""
    parts = _parts(pointer)
    if not parts:
        return document
    for part in parts[:-1]:
        document = _item(document, part)
        if document is _ABSENT:
            return _ABSENT
    last = parts[-1]
    before = _ABSENT if op == "add" else _item(document, last)
    if isinstance(document, dict):
        if op == "remove":
            document.pop(last, None)
        else:
            document[last] = value
    elif isinstance(document, list) and last.isdecimal() and int(last) <= len(document):
        _apply_to_list(document, op, int(last), value)
    return before


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _apply_to_list(document: list[Any], op: str, index: int, value: Any) -> None:
    if op == "add":
        document.insert(index, value)
    elif index < len(document):
        if op == "remove":
            del document[index]
        else:
            document[index] = value


def _item(document: Any, part: str) -> Any:
    if isinstance(document, dict):
        return document.get(part, _ABSENT)
    if isinstance(document, list) and part.isdecimal() and int(part) < len(document):
        return document[int(part)]
    return _ABSENT


def _value(value: Any) -> str:
    text = value_text(value)
    return shown(text) if len(text) <= _VALUE_SHOWN else shown(text[:_VALUE_SHOWN]) + " …"


def _costs(cost: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """A name, the cost in b, and how that differs; dollars first. What cost nothing in both is left out."""
    spent = [name for name in cost["delta"] if cost["a"].get(name) or cost["b"].get(name)]
    names = sorted(spent, key=lambda name: (name != "usd", not cost["delta"][name]))
    return [
        (
            "Cost" if name == "usd" else on_one_line(str(name), 30),
            f"{_amount(name, cost['b'].get(name, 0))} in B",
            _delta(name, cost["a"].get(name, 0), cost["delta"][name]),
        )
        for name in names[:_COSTS_SHOWN]
    ]


def _delta(name: str, before: float, delta: float) -> str:
    if not delta:
        return "the same in A"
    way = "more" if delta > 0 else "less"
    return f"{_amount(name, abs(delta))} {way} than A, {_amount(name, before)}"


def _amount(name: str, value: float) -> str:
    if name == "usd":
        return f"${value:.4f}"
    return on_one_line(f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else f"{value:g}", 24)


def _model(model: str | None) -> str:
    return on_one_line(model or "", 40)


def _files(files: Mapping[str, Sequence[str]] | None) -> list[tuple[str, str, str]]:
    if not files:
        return []
    verbs = (("changed", "~"), ("added", "+"), ("removed", "−"))
    rows = [(mark, verb, on_one_line(path, 200)) for verb, mark in verbs for path in files.get(verb, ())]
    return rows[:CHANGES_SHOWN]
