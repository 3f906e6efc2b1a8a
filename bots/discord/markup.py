"""Texts as Discord shows them: an agent's markdown as it is, our own words escaped, and all of it in messages that
are small enough.

Whatever a text names, nobody is notified: `allowed_mentions` is off everywhere.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from discord import ui

from turnback.bots.discord.buttons import addresses, view
from turnback.bots.discord.keys import TEXT_LIMIT
from turnback.bots.platform import Said
from turnback.bots.splitting import split, split_markdown
from turnback.core.text import harmless

MOST_PARTS = 5
"""Longer texts come as a file."""

CAPTION = 1000

LONG_TEXT = 20_000
"""Characters from which a text is cut in a thread, since it takes over a few milliseconds."""

_BLANK = "…"
_ADDRESS = re.compile(r"https?://[^\s<>]+")
_ANYWHERE = re.compile(r"[\\*_~`|\[\]]|<(?=[@#/:a-zA-Z])")
_AT_START = re.compile(r"^(\s*)([#>+-]|\d+(?=[.)]))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """A `Said` cut into the texts of messages; a `file` holds all of it, then the text is only its caption."""

    said: Said
    texts: tuple[str, ...]
    file: tuple[str, bytes] | None = None

    def controls(self, number: int, link: str | None = None) -> ui.View | None:
        """The components under one of its messages: they are under the last. `link` as in `view`."""
        return view(self.said, link) if number == len(self.texts) - 1 else None


async def shape(said: Said) -> Shape:
    """The messages that show something."""
    if len(said.text) < LONG_TEXT:
        return cut(said)
    return await asyncio.to_thread(cut, said)


def cut(said: Said) -> Shape:
    """The same, at once."""
    text = harmless("\n".join([said.text, *addresses(said)]))
    parts = split_markdown(text, TEXT_LIMIT) if said.markdown else split(escaped(text), TEXT_LIMIT)
    if len(parts) > MOST_PARTS:
        caption = f"{split(escaped(text), CAPTION)[0]}\n{_BLANK}"
        name = "answer.md" if said.markdown else "answer.txt"
        return Shape(said, (caption,), (name, said.text.encode("utf-8", "replace")))
    return Shape(said, tuple(parts) or (_BLANK,))


def escaped(text: str) -> str:
    """Plain text that Discord shows as it is. Addresses are left alone, as Discord does."""
    pieces, end = list[str](), 0
    for found in _ADDRESS.finditer(text):
        pieces += [_escape(text[end : found.start()]), found[0]]
        end = found.end()
    return _AT_START.sub(_escape_start, "".join([*pieces, _escape(text[end:])]))


def _escape(text: str) -> str:
    return _ANYWHERE.sub(lambda found: f"\\{found[0]}", text)


def _escape_start(found: re.Match[str]) -> str:
    blank, mark = found[1], found[2]
    return f"{blank}{mark}\\" if mark.isdigit() else f"{blank}\\{mark}"
