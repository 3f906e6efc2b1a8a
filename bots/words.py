"""Words as people type them: the same clean-up for every surface, for commands only.

Phones make dashes long and quotes curly, pages paste invisible characters, Slack wraps whatever
looks like a link. A command is read through `words`; ordinary chat text never is, so it stays as it
was written. The other direction is what somebody wrote, made safe to be shown: `printable` inside our
own lines, `core.text.harmless` on its own.
"""

from __future__ import annotations

import re
import unicodedata

from turnback.core.text import harmless, visible

OPENING = "\"'`´‘’‚‛“”„‟«»‹›「」『』<>()[]{}*"
"""What people put around an argument."""

SENTENCE = ".,;:!?…。，、；：！？"
"""What ends a sentence, and so may follow an argument."""

DASHES = str.maketrans({**dict.fromkeys("‐‑‒–−﹣－", "-"), **dict.fromkeys("—―﹘⸺⸻", "--")})
"""Dashes of all lengths; the long ones are what phones make of two short ones."""

_LINK = re.compile(r"<(?:[a-z][a-z0-9+.-]*:)[^<>|]*\|([^<>]*)>", re.IGNORECASE)
_BLANK = str.maketrans({"\u2800": " ", "\u3164": " ", "\uffa0": " ", "\u115f": " ", "\u1160": " "})
_UNSEEN = frozenset(
    {"\u034f", "\u17b4", "\u17b5", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}
)


def words(text: str) -> list[str]:
    """The words of a command line, cleaned: the first as it is, quotes and punctuation off the others.

    An argument of nothing but quotes stays, as an empty word; one of nothing but punctuation goes;
    one of nothing but dashes stays as "-".
    """
    parts = _visible(_LINK.sub(r"\1", text)).translate(_BLANK).translate(DASHES).split()
    if not parts:
        return []
    return [parts[0].rstrip(SENTENCE), *(w for part in parts[1:] if (w := _argument(part)) is not None)]


def plain(word: str) -> str:
    """A word in the form that names of commands and steps are compared in: one width, lower case."""
    return unicodedata.normalize("NFKC", word).casefold()


def printable(text: str, limit: int | None = None) -> str:
    """`text` on one line without control and bidi characters, cut to `limit` characters."""
    return _cut(" ".join(harmless(text).split()), limit)


def printable_lines(text: str, limit: int | None = None) -> str:
    """The same for a text of several lines; its line breaks and indents stay."""
    lines = (harmless(line).replace("\t", "    ").rstrip() for line in text.splitlines())
    return _cut("\n".join(lines).strip("\n"), limit)


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _argument(part: str) -> str | None:
    bare = part.strip(OPENING + SENTENCE)
    if bare and not bare.strip("-"):
        return "-"
    if bare or any(c in OPENING for c in part):
        return bare
    return None


def _visible(text: str) -> str:
    """Without all characters that nobody sees, but white space."""
    return "".join(c if c.isspace() else visible(c) for c in text if c not in _UNSEEN)
