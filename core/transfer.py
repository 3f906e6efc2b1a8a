"""Conversations from elsewhere: our own exports and OpenAI-style chats, as steps to be recorded.

Pure functions from text to values. Everything is read and checked before anything is written, so that
a bad line leaves nothing half imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnback.core.models import ID
from turnback.core.text import one_line

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

TITLE_LENGTH = 60
SUMMARY_LENGTH = 80


class NotImportable(Exception):
    """The text is no export and no chat; the message says where and why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A step to be recorded. `original` and `parent` are ids where it comes from; None for chats."""

    original: str | None
    parent: str | None
    turn_index: int
    iteration: int
    summary: str
    state: dict[str, Any]
    model: str | None = None
    label: str | None = None
    saved_at: datetime | None = None
    truncated: bool = False
    head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A thread to be made. `original` is the thread's id where it comes from; None for chats."""

    original: str | None
    title: str
    steps: tuple[Saved, ...]


def read(text: str) -> list[Conversation]:
    """The conversations in a file. Raises NotImportable."""
    values = _values(text)
    if not values:
        raise NotImportable("there is nothing in it")
    if all(isinstance(v, Mapping) and "state" in v and "thread_id" in v for _, v in values):
        return _exported(values)
    if all(isinstance(v, Mapping) and "role" in v for _, v in values):
        return [_chat("the list", {"messages": [v for _, v in values]})]
    return [_chat(where, v) for where, v in values]


def _values(text: str) -> list[tuple[str, Any]]:
    """What is in the file, each with where: JSON Lines, one object, or a list of objects."""
    text = text.removeprefix("\ufeff").strip()
    try:
        whole = _parse(text)
    except ValueError:
        lines = [(f"line {n}", line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        return [(where, _parse_line(where, line)) for where, line in lines]
    if isinstance(whole, list):
        return [(f"item {n}", value) for n, value in enumerate(whole, 1)]
    return [("the file", whole)]


def _parse(text: str) -> Any:
    """JSON with whole numbers of any size; what JSON does not have (NaN) becomes null."""
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError:
        raise NotImportable("it is nested too deeply") from None


def _parse_line(where: str, line: str) -> Any:
    try:
        return _parse(line)
    except ValueError as error:
        raise NotImportable(f"{where} is not JSON: {error}") from None


def _exported(values: Sequence[tuple[str, Any]]) -> list[Conversation]:
    threads: dict[str, list[Saved]] = {}
    for where, line in values:
        threads.setdefault(_thread_id(where, line), []).append(_saved(where, line))
    return [
        Conversation(original=thread_id, title=steps[0].summary or "Imported chat", steps=tuple(steps))
        for thread_id, steps in threads.items()
    ]


def _thread_id(where: str, line: Mapping[str, Any]) -> str:
    thread_id = line["thread_id"]
    if not isinstance(thread_id, str) or not ID.fullmatch(thread_id):
        raise NotImportable(f"{where}: thread_id is not the id of a thread")
    return thread_id


def _saved(where: str, line: Mapping[str, Any]) -> Saved:
    original, parent = line.get("id"), line.get("parent")
    if not isinstance(original, str) or not ID.fullmatch(original):
        raise NotImportable(f"{where}: id is not the id of a step")
    if not isinstance(line["state"], dict):
        raise NotImportable(f"{where}: state is not an object")
    return Saved(
        original=original,
        parent=parent if isinstance(parent, str) else None,
        turn_index=_whole(where, line, "turn_index", 1),
        iteration=_whole(where, line, "iteration", 0),
        summary=one_line(str(line.get("summary") or ""), SUMMARY_LENGTH),
        state=line["state"],
        model=line["model"] if isinstance(line.get("model"), str) else None,
        label=line["label"] if isinstance(line.get("label"), str) else None,
        saved_at=_time(where, line.get("created_at")),
        truncated=line.get("truncated") is True,
        head=line.get("head") is True,
    )


def _whole(where: str, line: Mapping[str, Any], name: str, least: int) -> int:
    value = line.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise NotImportable(f"{where}: {name} is not a whole number from {least}")
    return value


def _time(where: str, value: Any) -> datetime:
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise NotImportable(f"{where}: created_at is not a time") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _chat(where: str, value: Any) -> Conversation:
    messages = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(messages, list) or not messages:
        raise NotImportable(f"{where}: is neither a step of an export nor a chat with messages")
    for n, message in enumerate(messages, 1):
        _check_message(f"{where}, message {n}", message)
    steps = tuple(_turns(messages))
    title = value.get("title") if isinstance(value, Mapping) else None
    named = title if isinstance(title, str) and title.strip() else steps[0].summary
    return Conversation(original=None, title=one_line(named, TITLE_LENGTH) or "Imported chat", steps=steps)


def _check_message(where: str, message: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise NotImportable(f"{where}: has no role out of {', '.join(sorted(ROLES))}")
    if not isinstance(message.get("content"), str | list | None):
        raise NotImportable(f"{where}: content is neither a text, nor a list of parts, nor null")


def _turns(messages: Sequence[dict[str, Any]]) -> list[Saved]:
    """One step per turn: all messages up to the next one of the user."""
    starts = [n for n, message in enumerate(messages) if message["role"] == "user"] or [0]
    ends = [*starts[1:], len(messages)]
    return [
        Saved(
            original=None,
            parent=None,
            turn_index=turn_index,
            iteration=0,
            summary=one_line(_text(messages[start]), SUMMARY_LENGTH),
            state={"messages": list(messages[:end])},
            head=end == len(messages),
        )
        for turn_index, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content or ""
