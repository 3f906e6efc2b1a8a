"""Small rules about the text that people write and read."""

from __future__ import annotations


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
