"""Texts cut into Telegram's messages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from platforms.telegram.entities import piece, problem

from turnback.bots.telegram.markup import MOST_ENTITIES, Mark, Part, rendered, shortened, split, units

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1eb\U0001f1ee"

bits = st.sampled_from(["\n", " ", "`", "**", "_", "😀", FAMILY, FLAG, "e\u0301", "<b>", "[x](y)", "```"])
texts = st.lists(bits | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)).map("".join)


def shown(part: Part) -> list[tuple[str, str]]:
    """Kind and text of each entity, as Telegram reads it."""
    return [(str(e.type), piece(part.text, e.to_dict())) for e in part.entities()]


@settings(max_examples=150)
@given(texts, st.integers(20, 60), st.booleans())
def test_split_any_text_gives_parts_that_telegram_takes(text: str, limit: int, markdown: bool) -> None:
    for part in split(rendered(text, markdown=markdown), limit):
        assert 0 < units(part.text) <= limit
        assert part.text.strip()
        assert problem(part.text, [e.to_dict() for e in part.entities()]) is None


@given(st.text("ab \n", max_size=300), st.integers(5, 40))
def test_split_loses_nothing_but_blanks_at_the_cuts(text: str, limit: int) -> None:
    parts = split(Part(text), limit)
    assert "".join("".join(p.text for p in parts).split()) == "".join(text.split())


def test_split_cuts_between_paragraphs_before_lines() -> None:
    text = "one one one\ntwo two\n\nthree three\nfour"
    assert [p.text for p in split(Part(text), 30)] == ["one one one\ntwo two", "three three\nfour"]


def test_split_emoji_counts_two_units() -> None:
    parts = split(Part("😀" * 2049))
    assert [units(p.text) for p in parts] == [4096, 2]


def test_split_joined_emoji_stays_whole() -> None:
    parts = split(Part("x" * 17 + FAMILY + "y" * 10), 20)
    assert "".join(p.text for p in parts) == "x" * 17 + FAMILY + "y" * 10
    assert any(FAMILY in p.text for p in parts)


def test_split_flags_stay_whole() -> None:
    parts = split(Part("x" + FLAG * 10), 10)
    assert all(len(p.text.removeprefix("x")) % 2 == 0 for p in parts)


def test_split_code_block_goes_on_in_the_next_part() -> None:
    code = "\n".join(f"line {n}" for n in range(20))
    parts = split(rendered(f"Look:\n```python\n{code}\n```\nDone.", markdown=True), 80)
    assert len(parts) > 2
    for part in parts[1:-1]:
        assert [kind for kind, _ in shown(part)] == ["pre"]
    assert all(mark.language == "python" for part in parts for mark in part.marks)


def test_split_crowded_part_ends_before_telegram_drops_entities() -> None:
    parts = split(rendered(" ".join(f"`{n}`" for n in range(250)), markdown=True))
    assert all(len(p.marks) <= MOST_ENTITIES for p in parts)
    assert sum(len(p.marks) for p in parts) == 250


def test_split_blank_text_gives_nothing() -> None:
    assert split(rendered(" \n ", markdown=True)) == []


def test_split_nested_entities_are_clipped_with_the_text() -> None:
    whole = Part("aaaa bbbb cccc", (Mark("bold", 0, 14), Mark("italic", 5, 9)))
    first, second = split(whole, 10)
    assert shown(first) == [("bold", "aaaa bbbb"), ("italic", "bbbb")]
    assert shown(second) == [("bold", "cccc")]


def test_rendered_markdown_becomes_entities() -> None:
    part = rendered("**bold** and `code` and [site](https://a.example/x)", markdown=True)
    assert part.text == "bold and code and site"
    assert shown(part) == [("bold", "bold"), ("code", "code"), ("text_link", "site")]


def test_rendered_html_is_shown_as_written() -> None:
    text = "<b>x</b> <script>alert(1)</script> a < b <!-- c -->"
    assert rendered(text, markdown=True).text == text


def test_rendered_markdown_escapes_are_no_markup() -> None:
    assert rendered("5 * 3 * 2 = 30. snake_case_name!", markdown=True).text == "5 * 3 * 2 = 30. snake_case_name!"


def test_rendered_plain_text_is_no_markdown() -> None:
    part = rendered("**not bold** 3fa9c1d2 and 12345678901", markdown=False)
    assert part.text == "**not bold** 3fa9c1d2 and 12345678901"
    assert shown(part) == [("code", "3fa9c1d2")]


def test_rendered_lone_surrogate_is_replaced() -> None:
    assert rendered("ok \ud83d", markdown=False).text == "ok \ufffd"


def test_rendered_markdown_of_nothing_but_markup_is_shown_as_written() -> None:
    assert rendered("[]()", markdown=True).text.strip()


def test_shortened_ends_within_the_limit_with_an_ellipsis() -> None:
    assert shortened("😀" * 10, 7) == "😀😀😀…"
    assert shortened("short", 5) == "short"
