"""MarkdownV2 as the Bot API reads it: a character that is not escaped and means nothing is an error.

https://core.telegram.org/bots/api#markdownv2-style
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from platforms.core import Json, utf16_len
from platforms.telegram.entities import ParseError, in_order

RESERVED = frozenset("_*[]()~`>#+-=|{}.!")

_MARKS = {
    "```": "pre",
    "__": "underline",
    "||": "spoiler",
    "![": "custom_emoji",
    "_": "italic",
    "*": "bold",
    "~": "strikethrough",
    "`": "code",
    "[": "text_link",
}
_CLOSING = {kind: mark for mark, kind in _MARKS.items()} | {"text_link": "]", "custom_emoji": "]"}
_NAMES = {"text_link": "TextUrl", "custom_emoji": "CustomEmoji", "blockquote": "BlockQuote"}
_EMOJI = re.compile(r"tg://emoji\?id=(\d+)")
_LANGUAGE = re.compile(r"([^\s`]+)(?=\s)")


@dataclass
class _Open:
    kind: str
    byte: int
    source: int
    offset: int
    language: str = ""


def parse_markdown(source: str) -> tuple[str, list[Json]]:
    """The plain text and its entities."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.out: list[str] = []
        self.offset = 0
        self.open: list[_Open] = []
        self.found: list[Json] = []
        self.line_start = True

    def read(self) -> tuple[str, list[Json]]:
        while self.at < len(self.source):
            self._step()
        if self._quoting():
            self._end_quote()
        if self.open:
            raise self._no_end()
        return "".join(self.out), in_order(self.found)

    def _step(self) -> None:
        char = self.source[self.at]
        following = self.source[self.at + 1 : self.at + 2]
        in_code = bool(self.open) and self.open[-1].kind in ("code", "pre")
        if char == "\\" and following and ord(following) <= 126:
            self._write(following, 2)
        elif self.open and self._closes(self.open[-1].kind):
            self._close()
        elif in_code and char != "`":
            self._write(char, 1)
        elif char == "\n":
            self._new_line(following)
        elif char in RESERVED:
            self._begin(char)
        else:
            self._write(char, 1)

    def _write(self, text: str, read: int) -> None:
        self.out.append(text)
        self.offset += utf16_len(text)
        self.line_start = text == "\n" or (self.line_start and text == "\r")
        self.at += read

    def _new_line(self, following: str) -> None:
        self._write("\n", 1)
        if self._quoting() and following != ">":
            self._end_quote()

    def _closes(self, kind: str) -> bool:
        mark = _CLOSING.get(kind)
        if mark is None or not self.source.startswith(mark, self.at):
            return False
        return kind != "italic" or not self.source.startswith("__", self.at)

    def _begin(self, char: str) -> None:
        if char == ">" and self.line_start:
            if not self._quoting():
                self._push("blockquote", 1)
            else:
                self.at += 1
            return
        mark = next((mark for mark in _MARKS if self.source.startswith(mark, self.at)), None)
        if mark is None:
            raise ParseError(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")
        self._push(_MARKS[mark], len(mark))
        if mark == "```":
            self._head_of_pre()

    def _push(self, kind: str, read: int) -> None:
        self.open.append(_Open(kind, self._byte(), self.at, self.offset))
        self.at += read

    def _head_of_pre(self) -> None:
        if match := _LANGUAGE.match(self.source, self.at):
            self.open[-1].language = match[1]
            self.at = match.end()
        if self.source.startswith("\n", self.at):
            self.at += 1

    def _close(self) -> None:
        span = self.open.pop()
        self.at += len(_CLOSING[span.kind])
        more: Json | None = {}
        if span.kind == "text_link":
            more = self._link()
        elif span.kind == "custom_emoji":
            more = self._emoji()
        elif span.language:
            more = {"language": span.language}
        if more is not None:
            self._keep(span.kind, span.offset, **more)

    def _link(self) -> Json | None:
        url = self._address()
        return {"url": url} if url else None

    def _emoji(self) -> Json:
        match = _EMOJI.fullmatch(self._address() or "")
        if not match:
            raise ParseError("Custom emoji entity must contain a tg://emoji URL")
        return {"custom_emoji_id": match[1]}

    def _address(self) -> str | None:
        if not self.source.startswith("(", self.at):
            return None
        start, address = self._byte(), ""
        self.at += 1
        while (char := self.source[self.at : self.at + 1]) != ")":
            if not char:
                raise ParseError(f"Can't find end of a URL at byte offset {start}")
            self.at += char == "\\"
            address += self.source[self.at : self.at + 1]
            self.at += 1
        self.at += 1
        return address

    def _quoting(self) -> bool:
        return any(span.kind == "blockquote" for span in self.open)

    def _end_quote(self) -> None:
        kind = "blockquote"
        top = self.open[-1]
        if top.kind == "spoiler" and self.source[top.source :].split("\n")[0] == "||":
            self.open.pop()
            kind = "expandable_blockquote"
        if self.open[-1].kind != "blockquote":
            raise self._no_end()
        self._keep(kind, self.open.pop().offset)

    def _keep(self, kind: str, offset: int, **more: str) -> None:
        if self.offset > offset:
            self.found.append({"type": kind, "offset": offset, "length": self.offset - offset, **more})

    def _no_end(self) -> ParseError:
        span = self.open[-1]
        name = _NAMES.get(span.kind, span.kind.capitalize())
        return ParseError(f"Can't find end of {name} entity at byte offset {span.byte}")

    def _byte(self) -> int:
        return len(self.source[: self.at].encode())
