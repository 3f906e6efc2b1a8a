"""What is in a step: its messages as people read them, and its state as folded JSON. Bounded, since a
state may hold megabytes; the whole of it is one link away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnback.core.models import State
from turnback.core.state import codec, messages
from turnback.core.text import counted
from turnback.web.timetravel.wording import on_one_line, shown, value_text

MESSAGES_SHOWN = 60
"""Messages on one page of a step."""

TEXT_SHOWN, ARGUMENT_SHOWN = 4000, 1500
"""Characters of a message and of a call's argument."""

PAGE_SHOWN = 50_000
"""Characters of a page of messages, after which each message is only begun."""

_BEGUN = 160

KEY_SHOWN, STATE_SHOWN = 4000, 24_000
"""Characters of JSON, of one key and of all."""

_CALLS_SHOWN, _ARGUMENTS_SHOWN = 12, 12
_ROLES = {"user": "You", "assistant": "Agent", "tool": "Tool", "system": "System"}
_CUT = re.compile(r"… \[cut: \d+ characters\]")
"""Where a step that was too big was cut, see `state.truncate`."""

_TURNS_LINES = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call: its name, and its arguments by name, one line each or more."""

    name: str
    args: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message. `rest` counts the characters that are not shown; `cut`: parts were cut when it was saved."""

    role: str
    kind: str
    text: str
    calls: tuple[Call, ...] = ()
    more_calls: int = 0
    rest: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """A page of a step's messages, of `total`, beginning with number `first` (from 0)."""

    shown: tuple[Message, ...]
    first: int
    total: int
    whole_turn: bool

    @property
    def before(self) -> int:
        """The number that the page before this one begins with."""
        return max(self.first - MESSAGES_SHOWN, 0)

    @property
    def after(self) -> int:
        """The number of the first message behind the page."""
        return self.first + len(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of the state: a hint of what it holds, its JSON, and whether that is all of it."""

    name: str
    hint: str
    json: str
    whole: bool
    opened: bool = False


def read_messages(readable: Sequence[Mapping[str, Any]], start: int | None, *, you: str = "You") -> Messages:
    """The messages from number `start`; None: those of the last turn."""
    total = len(readable)
    if start is None:
        first = max(_turn_start(readable), total - MESSAGES_SHOWN)
    else:
        first = min(max(start, 0), max(total - 1, 0))
    page = read_bounded(readable[first : first + MESSAGES_SHOWN], you=you)
    return Messages(shown=tuple(page), first=first, total=total, whole_turn=start is None)


def read_bounded(readable: Sequence[Mapping[str, Any]], *, you: str = "You") -> list[Message]:
    """These messages, the later ones only begun where all of them would be too much for a page."""
    shown_ones: list[Message] = []
    left = PAGE_SHOWN
    for message in readable:
        one = read_message(message, you=you, room=max(left, _BEGUN))
        left -= len(one.text) + sum(len(value) for call in one.calls for _, value in call.args)
        shown_ones.append(one)
    return shown_ones


def read_message(message: Mapping[str, Any], *, you: str = "You", room: int = PAGE_SHOWN) -> Message:
    """A message as the page shows it, each of its texts within `room` characters."""
    kind = str(message.get("role") or "system")
    result = message.get("tool_result")
    text = str(message.get("text") or "")
    if result not in (None, ""):
        text = f"{text}\n{value_text(result)}".strip("\n")
    calls = message.get("tool_calls") or ()
    return Message(
        role=you if kind == "user" else _ROLES.get(kind, on_one_line(kind, 20)),
        kind=kind if kind in _ROLES else "system",
        text=shown(text[: min(TEXT_SHOWN, room)]),
        calls=tuple(_call(call, min(ARGUMENT_SHOWN, room)) for call in calls[:_CALLS_SHOWN]),
        more_calls=max(0, len(calls) - _CALLS_SHOWN),
        rest=max(0, len(text) - min(TEXT_SHOWN, room)),
        cut=_CUT.search(text) is not None,
    )


def read_state(state: State) -> list[Key]:
    """The keys of a state, the plan first and open. The messages are listed above them, so only counted here."""
    left = STATE_SHOWN
    keys = []
    for name in sorted(state, key=lambda key: (key != "plan", key == "messages")):
        value = state[name]
        if name == "messages" and isinstance(value, list):
            keys.append(Key(name="messages", hint=counted(len(value), "item"), json="", whole=False))
            continue
        text = json_text(value)
        cut = text[: min(KEY_SHOWN, left)]
        left -= len(cut)
        opened = name == "plan" and len(text) < 1200
        label = on_one_line(str(name), 80)
        keys.append(Key(name=label, hint=_hint(name, value), json=cut, whole=len(cut) == len(text), opened=opened))
    return keys


def json_text(value: Any) -> str:
    """JSON with indents; characters that turn lines around are written as escapes."""
    clean = messages.clean(value)
    try:
        text = json.dumps(clean, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested deep
        text = codec.dumps(clean).decode().strip()
    return _TURNS_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _turn_start(readable: Sequence[Mapping[str, Any]]) -> int:
    """Where the last turn begins: at its user's message."""
    for index in range(len(readable) - 1, -1, -1):
        if readable[index].get("role") == "user":
            return index
    return 0


def _call(call: Mapping[str, Any], limit: int) -> Call:
    args = call.get("args")
    if isinstance(args, Mapping):
        pairs = [
            (on_one_line(str(key), 40), _argument(value, limit)) for key, value in list(args.items())[:_ARGUMENTS_SHOWN]
        ]
        if len(args) > _ARGUMENTS_SHOWN:
            pairs.append(("…", f"and {len(args) - _ARGUMENTS_SHOWN} more"))
    else:
        pairs = [] if args in (None, "", []) else [("", _argument(args, limit))]
    return Call(name=on_one_line(str(call.get("name")), 80), args=tuple(pairs))


def _argument(value: Any, limit: int) -> str:
    text = value_text(value)
    return shown(text) if len(text) <= limit else shown(text[:limit]) + " …"


def _hint(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        usd = value.get("usd") if name == "cost" else None
        if isinstance(usd, int | float) and not isinstance(usd, bool):
            return f"${usd:.4f}"
        return counted(len(value), "key") if value else "empty"
    if isinstance(value, list):
        return counted(len(value), "item") if value else "empty"
    if isinstance(value, str):
        return counted(len(value), "character") if value else "empty"
    return ""
