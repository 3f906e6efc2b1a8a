"""Texts as Telegram shows them: plain text with entities, in parts that each fit into one message.

Formatting is never written as markup, so nothing has to be escaped, and a part can be cut anywhere: an
entity over a cut goes on in the next part, a code block too. Offsets count UTF-16 code units
(https://core.telegram.org/api/entities).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import structlog
from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert

from turnback.bots.telegram.keys import TEXT_LIMIT
from turnback.core.text import harmless

MOST_PARTS = 5
"""Longer texts come as a file."""

MOST_ENTITIES = 100
"""What Telegram keeps of one message, the others it drops."""

CUT_FROM = 0.5
"""A part is cut at a sensible place behind this share of the limit; without one, where it is full."""

_ID = re.compile(r"(?<![\w/@~-])[0-9a-f]{8}(?![\w@-])")
_HEADINGS = ("heading_level_1", "heading_level_2", "heading_level_3", "heading_level_4")
_JOINERS = re.compile("[\u200d\ufe0e\ufe0f\u0300-\u036f\u20d0-\u20ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_LONGEST_JOINED = 32
"""Code points of an emoji that is made of several, at most; longer chains are cut like anything else."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Mark:
    """An entity of a text: its kind, where it begins and ends in code points, and what it needs besides."""

    kind: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one message shows."""

    text: str
    marks: tuple[Mark, ...] = ()

    def entities(self) -> list[MessageEntity]:
        """The marks as the library takes them."""
        offsets = _offsets(self.text)
        return [
            MessageEntity(m.kind, offsets[m.start], offsets[m.end] - offsets[m.start], url=m.url, language=m.language)
            for m in self.marks
        ]


def rendered(text: str, *, markdown: bool) -> Part:
    """A whole text with its marks: an agent's markdown, or our own words with the ids of steps marked."""
    text = harmless(text)
    if markdown and (part := _of_markdown(text)) is not None:
        return part
    ids = () if markdown else tuple(Mark("code", match.start(), match.end()) for match in _ID.finditer(text))
    return Part(text, ids)


def split(whole: Part, limit: int = TEXT_LIMIT) -> list[Part]:
    """The text in parts of at most `limit` UTF-16 code units, none of them blank."""
    starts = [0, *_cuts(whole, limit)]
    pieces = zip(starts, [*starts[1:], len(whole.text)], strict=True)
    return [part for start, end in pieces if (part := _piece(whole, start, end)).text]


def units(text: str) -> int:
    """How Telegram counts a text: in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


def shortened(text: str, limit: int) -> str:
    """A text of at most `limit` code units, with an ellipsis where something was cut off."""
    if units(text) <= limit:
        return text
    offsets = _offsets(text)
    end = next(index for index in range(len(text), -1, -1) if offsets[index] < limit)
    return text[: _unjoined(text, 0, end)].rstrip() + "…"


def _of_markdown(text: str) -> Part | None:
    """None where markdown has no text in it, or the library cannot read it: then it is shown as written."""
    # To the library a `<` begins HTML, which it drops; people write about code, so it stays as it is.
    bracket = next(char for char in map(chr, range(0xE000, 0xF8FF)) if char not in text)
    try:
        shown, entities = convert(text.replace("<", bracket), config=_STYLE)
    except Exception:  # noqa: BLE001 - an answer that cannot be made pretty is shown all the same
        _log.warning("markdown not readable", exc_info=True)
        return None
    shown = shown.replace(bracket, "<")
    if not shown.strip():
        return None
    points = _points(shown)
    marks = (
        Mark(e.type, points[e.offset], points[e.offset + e.length], e.url, e.language)
        for e in entities
        if e.offset in points and e.offset + e.length in points and (e.type != "text_link" or e.url)
    )
    return Part(shown, tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end))))


def _style() -> RenderConfig:
    """The library's form without its decoration."""
    style = RenderConfig.isolated()
    for name in _HEADINGS:
        setattr(style.markdown_symbol, name, "")
    style.markdown_symbol.link = style.markdown_symbol.image = ""
    style.markdown_symbol.unordered_list_item = "•"
    return style


_STYLE = _style()


def _cuts(whole: Part, limit: int) -> Iterator[int]:
    offsets, start = _offsets(whole.text), 0
    crowded = sorted(mark.start for mark in whole.marks)
    while True:
        end = _full_at(offsets, start, limit)
        begun = [at for at in crowded if start <= at < end]
        if len(begun) > MOST_ENTITIES and begun[MOST_ENTITIES] > start:
            end = begun[MOST_ENTITIES]
        elif end == len(whole.text):
            return
        start = _sensible(whole.text, start, end)
        yield start


def _full_at(offsets: Sequence[int], start: int, limit: int) -> int:
    """The furthest end of a part that begins at `start`."""
    low, high = start + 1, min(len(offsets) - 1, start + limit)
    while low < high:
        middle = (low + high + 1) // 2
        if offsets[middle] - offsets[start] <= limit:
            low = middle
        else:
            high = middle - 1
    return min(low, len(offsets) - 1)


def _sensible(text: str, start: int, end: int) -> int:
    """Where to cut at or before `end`: between paragraphs, lines, sentences, words, else between characters."""
    earliest = start + int((end - start) * CUT_FROM)
    for mark in ("\n\n", "\n", ". ", " "):
        found = text.rfind(mark, earliest, end)
        if found > start:
            return found + len(mark)
    return _unjoined(text, start, end)


def _unjoined(text: str, start: int, end: int) -> int:
    """A cut at or before `end` that goes through no emoji and no letter with its accents."""
    for cut in range(end, max(start, end - _LONGEST_JOINED), -1):
        if not _is_joined(text, cut):
            return cut
    return end


def _is_joined(text: str, cut: int) -> bool:
    if not 0 < cut < len(text):
        return False
    before, after = text[cut - 1], text[cut]
    if before == "\u200d" or _JOINERS.match(after):
        return True
    flags = 0
    while flags < cut and "\U0001f1e6" <= text[cut - 1 - flags] <= "\U0001f1ff":
        flags += 1
    return flags % 2 == 1 and "\U0001f1e6" <= after <= "\U0001f1ff"


def _piece(whole: Part, start: int, end: int) -> Part:
    """A part without blank ends, which Telegram takes off, too."""
    piece = whole.text[start:end]
    start += len(piece) - len(piece.lstrip("\n ") if piece.strip() else piece)
    text = whole.text[start:end].rstrip()
    end = start + len(text)
    marks = [
        replace(mark, start=max(mark.start, start) - start, end=min(mark.end, end) - start)
        for mark in whole.marks
        if mark.start < end and mark.end > start
    ]
    return Part(text if text.strip() else "", tuple(marks[:MOST_ENTITIES]))


def _offsets(text: str) -> list[int]:
    """For each code point, and the end, how many UTF-16 code units come before it."""
    offsets, total = [0], 0
    for char in text:
        total += 2 if char > "\uffff" else 1
        offsets.append(total)
    return offsets


def _points(text: str) -> dict[int, int]:
    """The other way round: where code points begin, by UTF-16 offset."""
    return {offset: index for index, offset in enumerate(_offsets(text))}
