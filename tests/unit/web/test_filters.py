"""How values read on a page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from turnback.web.pages.filters import ago, line, size, when
from turnback.web.pages.markup import answer_html, cut_long

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (86400, "yesterday"),
        (2 * 86400, "2 days"),
        (7 * 86400, "22 Feb"),
        (400 * 86400, "25 Jan 2025"),
    ],
)
def test_time_reads_as_how_long_ago(seconds: int, words: str) -> None:
    assert ago(NOON - timedelta(seconds=seconds), NOON) == words


def test_time_has_the_exact_one_on_hover() -> None:
    assert when(NOON, NOON) == ('<time datetime="2026-03-01T12:00:00.000Z" title="1 Mar 2026, 12:00:00 UTC">now</time>')


@pytest.mark.parametrize(
    ("amount", "words"), [(0, "0 B"), (410, "410 B"), (6349, "6.2 KB"), (2**25, "32 MB"), (2**40, "1024 GB")]
)
def test_size_reads(amount: int, words: str) -> None:
    assert size(amount) == words


def test_line_is_one_line_without_marks_that_turn_it() -> None:
    assert line("a\n\u202eb\u0000<i>") == "<bdi>a b&lt;i&gt;</bdi>"
    assert line("abcdef", 4) == "<bdi>abc…</bdi>"


def test_answer_is_markdown() -> None:
    assert answer_html("**b** `c`") == "<p><strong>b</strong> <code>c</code></p>\n"


def test_answer_links_out_without_telling_where_from() -> None:
    assert 'rel="noopener noreferrer nofollow"' in answer_html("[x](https://example.org)")
    assert "<a" not in answer_html("[x](javascript:alert)")


def test_deep_nesting_and_long_lines_are_rendered() -> None:
    for text in (">" * 5000 + "x", "[" * 5000, "*" * 5000, "`" * 5000):
        assert answer_html(text)


def test_long_text_is_cut_at_a_word() -> None:
    assert cut_long("short") is None
    assert cut_long("a " * 50, 20) == "a " * 9 + "a"
    assert cut_long("x" * 50, 20) == "x" * 20


def test_lone_surrogate_is_shown_as_the_replacement_character() -> None:
    assert "\ufffd" in answer_html("a\ud800b")
