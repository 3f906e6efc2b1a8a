"""Long texts in parts that a platform takes: cut at sensible places, blocks of code closed and opened again.

Lengths are code points. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CUT_FROM = 0.5
"""A part is cut at a sensible place behind this share of the limit; without one, where it is full."""

FENCES = 100
"""Characters that closing a block of code and opening it again may take."""

_FENCE = re.compile(r"\s{0,3}(`{3,20}|~{3,20})(.*)")


def split(text: str, limit: int) -> list[str]:
    """A text in parts that are not longer than that and not blank. A backslash stays with what it escapes."""
    return [part for part in _pieces(text, limit) if part.strip()]


def split_markdown(text: str, limit: int) -> list[str]:
    """The same for markdown: a block of code that is cut is closed, and goes on in the next part."""
    parts, lines, room = list[str](), list[str](), limit
    fence: tuple[str, str] | None = None
    for line in _lines(text, limit - FENCES):
        if len(line) + 1 > room and lines:
            parts.append("\n".join([*lines, *([fence[0]] if fence else [])]))
            lines = ["".join(fence)] if fence else []
            room = limit - sum(len(kept) + 1 for kept in lines) - (len(fence[0]) + 1 if fence else 0)
        lines.append(line)
        room -= len(line) + 1
        before, fence = fence, _fence_after(fence, line)
        if fence is not None and before is None:
            room -= len(fence[0]) + 1
    parts.append("\n".join(lines))
    return [part.strip("\n") for part in parts if part.strip()]


def _pieces(text: str, limit: int) -> Iterator[str]:
    while len(text) > limit:
        end = _sensible(text, limit)
        yield text[:end].rstrip()
        text = text[end:].lstrip("\n")
    yield text.rstrip()


def _sensible(text: str, limit: int) -> int:
    for mark in ("\n\n", "\n", ". ", " "):
        found = text.rfind(mark, int(limit * CUT_FROM), limit - len(mark) + 1)
        if found > 0:
            return found + len(mark)
    escapes = len(text[:limit]) - len(text[:limit].rstrip("\\"))
    return limit - escapes % 2


def _lines(text: str, longest: int) -> Iterator[str]:
    for line in text.split("\n"):
        yield from _pieces(line, longest) if len(line) > longest else (line,)


def _fence_after(fence: tuple[str, str] | None, line: str) -> tuple[str, str] | None:
    """The block of code that is open after a line: its marks, and what was said behind them."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    if fence is None:
        return found[1], found[2][:40]
    closes = found[1].startswith(fence[0]) and not found[2].strip()
    return None if closes else fence
