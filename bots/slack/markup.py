"""Texts as Slack shows them: an agent's markdown in `markdown` blocks, our own words in plain sections, and all of
it in messages that are small enough.

Our own words are plain text, so nothing that people wrote is taken for formatting, and nothing is escaped but
the line that notifications and screen readers take.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from turnback.bots.platform import Said
from turnback.bots.slack.buttons import Block, controls, size
from turnback.bots.slack.keys import TEXT_LIMIT
from turnback.bots.slack.wire import calm, escaped
from turnback.bots.splitting import split, split_markdown
from turnback.core.text import harmless

MOST_PARTS = 5
"""Longer texts come as a file."""

ALL_LIMIT = 9400
"""Characters of all blocks together that Slack takes for sure."""

SECTION = 3000
NOTICE = 3000
"""Characters of the line for notifications; Slack takes 4000 with an edit."""

CAPTION = 1000

LONG_TEXT = 20_000
"""Characters from which a text is cut in a thread, since it takes over a few milliseconds."""

_BLANK = "…"


@dataclass(frozen=True, slots=True)
class Content:
    """What a message shows or shall show."""

    text: str
    blocks: tuple[Block, ...]
    plain: str
    """The same in words alone, for when Slack takes no blocks."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A `Said` cut into messages; a `file` holds all of it, then `contents` is only its caption."""

    contents: tuple[Content, ...]
    file: tuple[str, bytes] | None = None


async def shape(said: Said) -> Shape:
    """The messages that show something."""
    if len(said.text) < LONG_TEXT:
        return cut(said)
    return await asyncio.to_thread(cut, said)


def cut(said: Said) -> Shape:
    """The same, at once."""
    buttons = controls(said)
    text = harmless(said.text)
    limit = min(TEXT_LIMIT, ALL_LIMIT - size(buttons))
    parts = (split_markdown if said.markdown else split)(text, limit) or [_BLANK]
    if len(parts) > MOST_PARTS:
        caption = split(text, CAPTION)[0] + "\n…"
        name = "answer.md" if said.markdown else "answer.txt"
        return Shape((content(caption, buttons),), (name, said.text.encode("utf-8", "replace")))
    bare = [content(part, [], markdown=said.markdown) for part in parts[:-1]]
    return Shape((*bare, content(parts[-1], buttons, markdown=said.markdown)))


def content(text: str, buttons: list[Block], *, markdown: bool = False) -> Content:
    """One message."""
    if markdown:
        blocks: list[Block] = [{"type": "markdown", "text": calm(text)}]
    else:
        blocks = [_section(piece) for piece in split(text, SECTION)]
    return Content(notice(text), (*blocks, *buttons), text)


def notice(text: str) -> str:
    """The line for notifications and screen readers."""
    line = escaped(text[:NOTICE])
    while len(line) > NOTICE:
        text = text[: len(text[:NOTICE]) * NOTICE // len(line) - 1]
        line = escaped(text)
    return line


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
