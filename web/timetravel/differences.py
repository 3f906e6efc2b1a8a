"""Which words of two texts differ, for reading them side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

Piece = tuple[str, str]
"""A kind, `same`, `del` or `ins`, and a text."""

WORDS_COMPARED = 400
"""Longer texts are shown without marks: comparing takes the square of this."""

_ALIKE = 0.35
"""How much two texts must have in common for marks to help rather than to clutter."""

_WORD = re.compile(r"\s+|\w+(?:[./:@#~-]+\w+)*|[^\w\s]")
"""White space, a word (a path and a version are one), or a sign."""


def word_marks(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """`a` with what `b` lacks marked, and `b` with what `a` lacks; unmarked where they have little in common."""
    left, right = _WORD.findall(a), _WORD.findall(b)
    plain = ([("same", a)] if a else [], [("same", b)] if b else [])
    if max(len(left), len(right)) > WORDS_COMPARED or not left or not right:
        return plain
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return plain
    marked_a: list[Piece] = []
    marked_b: list[Piece] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        _add(marked_a, "same" if tag == "equal" else "del", left[a0:a1])
        _add(marked_b, "same" if tag == "equal" else "ins", right[b0:b1])
    return _joined(marked_a), _joined(marked_b)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Marks with nothing but white space between them as one."""
    joined: list[Piece] = []
    for kind, text in pieces:
        between = len(joined) > 1 and kind != "same" and joined[-1][0] == "same" and not joined[-1][1].strip()
        if between and joined[-2][0] == kind:
            _, space = joined.pop()
            joined[-1] = (kind, joined[-1][1] + space + text)
        else:
            joined.append((kind, text))
    return joined


def _add(pieces: list[Piece], kind: str, words: Sequence[str]) -> None:
    text = "".join(words)
    if not text:
        return
    if kind != "same" and not text.strip():
        kind = "same"  # a mark on white space alone says nothing
    if pieces and pieces[-1][0] == kind:
        pieces[-1] = (kind, pieces[-1][1] + text)
    else:
        pieces.append((kind, text))
