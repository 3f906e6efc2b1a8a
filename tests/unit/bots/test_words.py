"""Making words readable, and what is shown harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.words import printable, printable_lines, words
from turnback.core.text import harmless


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("  a \u00a0b\u202fc ", ["a", "b", "c"]),
        ("/x “q” (r) <s>", ["/x", "q", "r", "s"]),
        ("/x <http://a.py|a.py> <mailto:a@b|a@b>", ["/x", "a.py", "a@b"]),
        ("/x <@U123>", ["/x", "@U123"]),
        ('/x "" . —', ["/x", "", "-"]),
        ("/x _y %z", ["/x", "_y", "%z"]),
    ],
)
def test_words_are_cleaned(text: str, read: list[str]) -> None:
    assert words(text) == read


def test_printable_text_is_one_line_without_bidi_and_controls() -> None:
    assert printable("a\u202eb\x1b[31m\nc\x00\u2067 \ud800") == "ab[31m c \ufffd"


def test_printable_text_is_cut_to_the_limit() -> None:
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"


def test_printable_lines_keep_their_breaks_and_indents() -> None:
    assert printable_lines("a\r\n\tb\u202e\n\n") == "a\n    b"


def test_harmless_text_keeps_joined_emoji_and_persian() -> None:
    text = "👨\u200d👩\u200d👧 می\u200cخواهم\n\tx"
    assert harmless(text) == text


@given(st.text())
def test_harmless_text_holds_no_control(text: str) -> None:
    assert not {c for c in harmless(text) if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0}
