"""Texts as Discord shows them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.discord.markup import MOST_PARTS, cut, escaped
from turnback.bots.platform import Said
from turnback.bots.replies import Button


def unescaped(text: str) -> str:
    return re.sub(r"\\([\\*_~`|\[\]<#>+.)-])", r"\1", text)


@given(st.text(alphabet="ab*_`#<@>1. -\n|[", max_size=200))
def test_plain_words_keep_all_their_signs(text: str) -> None:
    assert unescaped(escaped(text)) == text


def test_nothing_that_people_wrote_is_taken_for_formatting() -> None:
    assert escaped("*bold* _it_ `code` ||spoiler||") == r"\*bold\* \_it\_ \`code\` \|\|spoiler\|\|"
    assert escaped("# title\n- item\n1. first\n> said") == "\\# title\n\\- item\n1\\. first\n\\> said"
    assert escaped("<@123> <#4> <t:1> [a](b)") == r"\<@123> \<#4> \<t:1> \[a\](b)"


def test_addresses_are_left_alone() -> None:
    assert escaped("see https://a.example/x_y_z*") == "see https://a.example/x_y_z*"


@given(st.text(alphabet="ab*_`\n 😀", min_size=1, max_size=6000))
def test_every_message_has_at_most_2000_code_points(text: str) -> None:
    shaped = cut(Said(text=text))
    assert shaped.file is not None or len(shaped.texts) <= MOST_PARTS
    assert all(0 < len(part) <= 2000 for part in shaped.texts)


def test_more_than_five_messages_are_a_file_with_all_of_it() -> None:
    text = "\n".join(f"line {number} " + "x" * 90 for number in range(120))
    shaped = cut(Said(text=text, markdown=True))
    assert shaped.file == ("answer.md", text.encode())
    assert len(shaped.texts) == 1
    assert shaped.texts[0].startswith("line 0")


def test_address_that_discord_does_not_open_is_a_line() -> None:
    said = Said(text="Done.", buttons=(Button(label="Open", url="http://turnback:8765/x"),))
    assert cut(said).texts == ("Done.\nOpen: http://turnback:8765/x",)


def test_nothing_is_shown_as_a_sign_that_something_was_said() -> None:
    assert cut(Said(text="  \n")).texts == ("…",)
