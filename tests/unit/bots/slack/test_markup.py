"""Messages within Slack's limits, whatever is to be said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms.core import Json
from platforms.slack import blocks as kit

from turnback.bots.platform import Said
from turnback.bots.replies import Button, Option, Select
from turnback.bots.slack.markup import NOTICE, cut, notice, shape

ID = "0123456789abcdef" * 2
OPTIONS = tuple(Option(label="Turn 1, step 1 " * 9, detail="d" * 200, command=f"/replay show {ID}") for _ in range(120))
BUTTONS = tuple(Button(label=f"Button {number}", command=f"/replay restore {ID}") for number in range(30))


def problems(blocks: list[Json]) -> list[str]:
    found = kit.Problems()
    kit.check_blocks(blocks, found)
    return found.sentences


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2999, 3001, 8000, 25_000])
def test_every_message_fits(markdown: bool, length: int) -> None:
    said = Said(
        text="wörd & " * (length // 7),
        markdown=markdown,
        buttons=BUTTONS,
        select=Select(placeholder="Pick", options=OPTIONS),
    )
    for content in cut(said).contents:
        blocks = [dict(block) for block in content.blocks]
        assert problems(blocks) == []
        assert kit.text_size(blocks) <= 9500
        assert 0 < len(content.text) <= 4000


def test_text_of_a_usual_list_stays_under_what_slack_takes_for_sure() -> None:
    options = tuple(Option(label="x" * 75, detail="y" * 75, command=f"/replay show {ID}") for _ in range(20))
    said = Said(text="line of a list\n" * 2000, buttons=BUTTONS[:5], select=Select(placeholder="Pick", options=options))
    assert all(kit.text_size(list(content.blocks)) < 9500 for content in cut(said).contents)


@given(st.text(max_size=9000))
def test_nothing_is_lost_of_plain_text(text: str) -> None:
    shown = cut(Said(text=text)).contents
    seen = "".join(each["text"] for content in shown for each in kit.texts(list(content.blocks)))
    kept = [c for c in text if c.isascii() and c.isalnum()]
    assert [c for c in seen if c.isascii() and c.isalnum()] == kept


def test_code_that_is_cut_is_closed_and_opened_again() -> None:
    said = Said(text="```python\n" + "print(1)\n" * 1500 + "```", markdown=True)
    parts = [content.blocks[0]["text"] for content in cut(said).contents]
    assert len(parts) > 1
    assert all(part.startswith("```python") and part.count("```") == 2 for part in parts)


def test_very_long_text_becomes_a_file_with_all_of_it() -> None:
    said = Said(text="word " * 20_000, markdown=True, buttons=BUTTONS[:1])
    what = cut(said)
    assert what.file == ("answer.md", said.text.encode())
    assert what.contents[0].blocks[-1]["type"] == "actions"


def test_controls_stand_under_the_last_part_only() -> None:
    contents = cut(Said(text="word " * 3000, buttons=BUTTONS[:1])).contents
    assert [any(block["type"] == "actions" for block in content.blocks) for content in contents[:-1]] == [False] * (
        len(contents) - 1
    )
    assert len(contents) > 1
    assert contents[-1].blocks[-1]["type"] == "actions"


def test_notice_is_escaped_and_short_enough() -> None:
    assert notice("<!channel> & co") == "&lt;!channel&gt; &amp; co"
    assert len(notice("&" * 5000)) <= NOTICE


async def test_blank_text_is_shown_as_something() -> None:
    assert (await shape(Said(text="  "))).contents[0].text
