"""Entities of a text: what the server finds by itself, what it checks, and what trimming does to them.

Offsets and lengths are UTF-16 code units, as in the Bot API (https://core.telegram.org/api/entities).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from platforms.core import Json, utf16_len

_KINDS = (
    "mention hashtag cashtag bot_command url email phone_number bold italic underline strikethrough spoiler "
    "blockquote expandable_blockquote code pre text_link text_mention custom_emoji"
)
KINDS = frozenset(_KINDS.split())

_UNTOUCHED = ("code", "pre", "text_link", "text_mention")
_FOUND: Sequence[tuple[str, re.Pattern[str]]] = (
    ("bot_command", re.compile(r"(?<![\w/<>@])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("url", re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)]")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("mention", re.compile(r"(?<![\w@])@[A-Za-z][A-Za-z0-9_]{2,31}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#\w*[^\W\d]\w*")),
)


class ParseError(ValueError):
    """What follows "can't parse entities: "."""


def with_found(text: str, entities: Sequence[Json]) -> list[Json]:
    """The entities and those that Telegram finds without being told: commands, links, mentions."""
    taken = [_ends(entity) for entity in entities if entity["type"] in _UNTOUCHED]
    found = [*entities]
    for kind, pattern in _FOUND:
        for match in pattern.finditer(text):
            start = utf16_len(text[: match.start()])
            end = start + utf16_len(match[0])
            if all(end <= left or start >= right for left, right in taken):
                found.append({"type": kind, "offset": start, "length": end - start})
                taken.append((start, end))
    return in_order(found)


def in_order(entities: Sequence[Json]) -> list[Json]:
    return sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))


def piece(text: str, entity: Json) -> str:
    """The part of the text that the entity covers."""
    start, end = _ends(entity)
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def trimmed(text: str, entities: Sequence[Json]) -> tuple[str, list[Json]]:
    """The text without white space at its ends, and the entities moved along."""
    start = utf16_len(text) - utf16_len(text.lstrip())
    text = text.strip()
    total = utf16_len(text)
    kept = []
    for entity in entities:
        left = min(max(entity["offset"] - start, 0), total)
        right = min(max(entity["offset"] + entity["length"] - start, 0), total)
        if right > left:
            kept.append({**entity, "offset": left, "length": right - left})
    return text, kept


def problem(text: str, entities: object) -> str | None:
    """What is wrong with entities that a bot gave, in the server's words."""
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        return "can't parse entities: expected an Array of MessageEntity"
    cuts = _cuts(text)
    for entity in entities:
        if found := _problem(entity, cuts):
            return found
    return None


def _problem(entity: Json, cuts: Callable[[int], bool | None]) -> str | None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if kind not in KINDS:
        return f'can\'t parse entities: unsupported type "{kind}"'
    if not isinstance(offset, int) or not isinstance(length, int):
        return "can't parse entities: offset and length must be of type Number"
    if offset < 0 or length <= 0:
        return f"entity has a wrong offset or length: {offset}, {length}"
    if cuts(offset + length) is None:
        return f"entity beginning at UTF-16 offset {offset} ends after the end of the text"
    if not cuts(offset):
        return f"entity begins in a middle of a UTF-16 symbol at offset {offset}"
    if not cuts(offset + length):
        return f"entity ends in a middle of a UTF-16 symbol at offset {offset + length}"
    if kind == "text_link" and not entity.get("url"):
        return "can't parse entities: a text_link needs a url"
    return None


def _cuts(text: str) -> Callable[[int], bool | None]:
    """Whether a symbol begins or the text ends at that offset; None past the end."""
    starts, total = set[int](), 0
    for char in text:
        starts.add(total)
        total += utf16_len(char)
    starts.add(total)
    return lambda offset: None if offset > total else offset in starts


def _ends(entity: Json) -> tuple[int, int]:
    return entity["offset"], entity["offset"] + entity["length"]
