"""Small rules about the text that people write and read."""

from __future__ import annotations

import unicodedata


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of `text` in one line, cut at a word where there is one."""
    line = " ".join(well_formed(text).split())
    if len(line) <= limit:
        return line
    cut = line[: limit + 1].rpartition(" ")[0]
    return cut or line[:limit]


def well_formed(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which no file, model or screen can take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def counted(n: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def harmless(text: str) -> str:
    """`text` without what could steer a terminal or turn a line around; what joins letters and emoji stays."""
    return "".join(c if c in "\n\t\u200c\u200d" else visible(c) for c in text)


def visible(c: str) -> str:
    """A character, or nothing if it is one that nobody sees; U+FFFD for a lone surrogate."""
    category = unicodedata.category(c)
    if category == "Cs":
        return "\ufffd"
    return "" if category in ("Cc", "Cf") else c
