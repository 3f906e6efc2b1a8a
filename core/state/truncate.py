"""A state that is too big, made to fit: it can be read and compared, and is marked as cut."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from turnback.core.models import State
from turnback.core.state import codec, tree
from turnback.core.state.dialects import items

_KEEP = 200
"""Texts of so many characters or less are not cut."""


def truncate(state: State, max_bytes: int, size: int | None = None) -> State:
    """The state, of plain JSON values, with its longest texts cut; then, if it is still too big, its
    oldest messages replaced by a marker; then whatever else is big. Its JSON has at most `max_bytes`
    (2 at least). `size` is that of the given state, if it is known already.
    """
    excess = (size or codec.encode(state).bytes) - max_bytes
    for limit in _limits(state, excess):
        cut = tree.map_texts(state, partial(_cut, limit=limit), keys=False)
        if codec.encode(cut).bytes <= max_bytes:
            return dict(cut)
    return _shrink(dict(cut), max_bytes)


def _limits(state: State, excess: int) -> list[int]:
    """Lengths to cut texts at, from the mildest that may do to the hardest."""
    lengths = sorted((codec.text_size(text) for text in tree.texts(state) if len(text) > _KEEP), reverse=True)
    level = _level(lengths, excess + 80 * min(len(lengths), 100))
    limits = []
    while level > _KEEP:
        limits.append(level)
        level = level * 3 // 4
    return [*limits, _KEEP]


def _level(lengths: list[int], excess: int) -> int:
    """The length that the longest texts must come down to for `excess` bytes to go."""
    total = 0
    for index, length in enumerate(lengths):
        total += length
        following = lengths[index + 1] if index + 1 < len(lengths) else 0
        if total - following * (index + 1) >= excess:
            return max((total - excess) // (index + 1), 0)
    return 0


def _cut(text: str, limit: int) -> str:
    if len(text) <= _KEEP:
        return text
    size = codec.text_size(text)
    if size <= limit + 60:
        return text
    keep = max(len(text) * limit // size, 0)
    return f"{text[:keep]}… [cut: {len(text) - keep} characters]"


def _shrink(state: State, max_bytes: int) -> State:
    others = {key: value for key, value in state.items() if key != "messages" or not isinstance(value, list)}
    room = max_bytes // 2 if codec.encode(others).bytes > max_bytes // 2 and len(state) != len(others) else max_bytes
    others = _shrink_fields(others, room)
    if len(others) and "messages" not in state:
        return others
    return _shrink_messages(state, others, max_bytes)


def _shrink_messages(state: State, others: State, max_bytes: int) -> State:
    messages = list(items(state.get("messages")))
    if codec.encode({**others, "messages": messages}).bytes <= max_bytes:
        return {**others, "messages": messages}
    sizes = [len(codec.dumps(message)) + 1 for message in messages]
    left = max_bytes - codec.encode({**others, "messages": [_gone(len(messages))]}).bytes
    kept = 0
    while kept < len(messages) and sizes[-1 - kept] <= left:
        left -= sizes[-1 - kept]
        kept += 1
    marked = [_gone(len(messages) - kept), *messages[len(messages) - kept :]]
    result = {**others, "messages": marked}
    return result if codec.encode(result).bytes <= max_bytes else _shrink_fields(others, max_bytes)


def _gone(count: int) -> dict[str, str]:
    return {"role": "system", "content": f"[cut: the {count} oldest messages]"}


def _shrink_fields(fields: State, max_bytes: int) -> State:
    """Biggest values first become markers; then keys go."""
    result = dict(fields)
    sizes = {key: len(codec.dumps(value)) for key, value in fields.items()}
    total = codec.encode(result).bytes
    for key in sorted(sizes, key=lambda name: -sizes[name]):
        if total <= max_bytes:
            return result
        marker = f"[cut: {sizes[key]} bytes]"
        if sizes[key] > len(marker) + 2:
            result[key] = marker
            total -= sizes[key] - len(marker) - 2
    return result if total <= max_bytes else _shrink_keys(result, max_bytes)


def _shrink_keys(fields: Mapping[str, Any], max_bytes: int) -> State:
    result: State = {}
    size = len(codec.dumps({"[cut]": f"{len(fields)} keys"}))
    if size > max_bytes:
        return {}
    for key, value in fields.items():
        cost = len(codec.dumps({key: value})) - 1
        if size + cost <= max_bytes:
            result[key] = value
            size += cost
    return {**result, "[cut]": f"{len(fields) - len(result)} keys"}
