"""The Bot API's HTML: a few tags, four named entities, and an error for anything else.

https://core.telegram.org/bots/api#html-style
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from platforms.core import Json, utf16_len
from platforms.telegram.entities import ParseError, in_order

_KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
_TAG = re.compile(r"<(/?)([^\s>]*)((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>")
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+)))?")
_SPECIAL = re.compile(r"&(?:#x[0-9a-fA-F]+|#[0-9]+|lt|gt|amp|quot);")


@dataclass
class _Open:
    tag: str
    attributes: dict[str, str]
    offset: int


def parse_html(source: str) -> tuple[str, list[Json]]:
    """The plain text and its entities."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.out: list[str] = []
        self.offset = 0
        self.open: list[_Open] = []
        self.found: list[Json] = []

    def read(self) -> tuple[str, list[Json]]:
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "<":
                self._tag()
            elif char == "&" and (match := _SPECIAL.match(self.source, self.at)):
                self._write(html.unescape(match[0]), len(match[0]))
            else:
                self._write(char, 1)
        if self.open:
            raise ParseError(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        return "".join(self.out), in_order(self.found)

    def _write(self, text: str, read: int) -> None:
        self.out.append(text)
        self.offset += utf16_len(text)
        self.at += read

    def _tag(self) -> None:
        byte = len(self.source[: self.at].encode())
        match = _TAG.match(self.source, self.at)
        if not match:
            raise ParseError(f"Unclosed start tag at byte offset {byte}")
        self.at = match.end()
        name = match[2].lower()
        if match[1]:
            self._end(name, byte)
        else:
            self._start(name, match[3], byte)

    def _start(self, name: str, rest: str, byte: int) -> None:
        if name not in _KINDS:
            raise ParseError(f'Unsupported start tag "{name}" at byte offset {byte}')
        attributes = {
            found[1].lower(): html.unescape(found[2] or found[3] or found[4] or "")
            for found in _ATTRIBUTE.finditer(rest)
        }
        if name == "span" and attributes.get("class") != "tg-spoiler":
            raise ParseError(f'Tag "span" must have class "tg-spoiler" at byte offset {byte}')
        self.open.append(_Open(name, attributes, self.offset))

    def _end(self, name: str, byte: int) -> None:
        if not self.open:
            raise ParseError(f"Unexpected end tag at byte offset {byte}")
        opened = self.open.pop()
        if name and name != opened.tag:
            raise ParseError(f'Unmatched end tag at byte offset {byte}, expected "</{opened.tag}>", found "</{name}>"')
        if self.offset > opened.offset:
            self._keep(opened)

    def _keep(self, opened: _Open) -> None:
        length = self.offset - opened.offset
        entity: Json = {"type": _KINDS[opened.tag], "offset": opened.offset, "length": length}
        match opened.tag:
            case "a":
                entity["url"] = opened.attributes.get("href") or "".join(self.out)
            case "tg-emoji":
                entity["custom_emoji_id"] = opened.attributes.get("emoji-id", "")
            case "blockquote" if "expandable" in opened.attributes:
                entity["type"] = "expandable_blockquote"
            case "code" if opened.attributes.get("class", "").startswith("language-"):
                entity["language"] = opened.attributes["class"].removeprefix("language-")
            case "pre":
                self._take_code_inside(entity)
        if entity["type"] == "code" and "language" in entity and not (self.open and self.open[-1].tag == "pre"):
            del entity["language"]
        self.found.append(entity)

    def _take_code_inside(self, pre: Json) -> None:
        """`<pre><code class="language-…">` is one entity."""
        inner = self.found[-1] if self.found else {}
        if inner.get("type") == "code" and (inner["offset"], inner["length"]) == (pre["offset"], pre["length"]):
            self.found.pop()
            if "language" in inner:
                pre["language"] = inner["language"]
