"""Long texts in parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.splitting import split, split_markdown

PROSE = st.text(alphabet="ab \n.\\`*é😀", max_size=3000)


@given(PROSE, st.integers(50, 400))
def test_parts_are_within_the_limit_and_lose_no_words(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(0 < len(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["```", "```py", "~~~", "a line", "", "x" * 300, "`` ` ``"]), max_size=60))
def test_parts_of_markdown_are_within_the_limit_and_each_closes_its_code(lines: list[str]) -> None:
    for part in split_markdown("\n".join(lines), 400):
        assert len(part) <= 400


def test_code_that_is_cut_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"line {number}" for number in range(100))
    parts = split_markdown(f"```py\n{code}\n```", 400)
    assert len(parts) > 2
    assert all(part.startswith("```py\n") and part.endswith("```") for part in parts)


def test_escaped_sign_is_not_parted_from_its_backslash() -> None:
    for shift in range(4):
        parts = split("x" * shift + "\\*" * 100, 60)
        assert not any(part.startswith("*") for part in parts)


def test_line_that_fits_is_not_cut() -> None:
    line = ("word " * 370).rstrip()
    assert split_markdown(line, 2000) == [line]
