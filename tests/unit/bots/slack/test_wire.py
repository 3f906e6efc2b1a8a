"""What Slack escapes and wraps, and undoing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.slack.wire import calm, escaped, mention_of, readable, unescaped


@pytest.mark.parametrize(
    ("wire", "typed"),
    [
        ("<http://3fa9c1d2.py|3fa9c1d2.py> 77b0aa01", "3fa9c1d2.py 77b0aa01"),
        ("mail <mailto:ana@example.org|ana@example.org>", "mail ana@example.org"),
        ("<https://host/replay?thread=a&amp;b=c>", "https://host/replay?thread=a&b=c"),
        ("<mailto:ana@example.org>", "ana@example.org"),
        ("ask <@U1> and <@U2|bob>", "ask <@U1> and @bob"),
        ("in <#C1|general>", "in #general"),
        ("<!here> <!subteam^S1|@team> <!date^1^x|today>", "@here @team today"),
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_wire_text_reads_as_it_was_typed(wire: str, typed: str) -> None:
    assert readable(wire) == typed


@given(st.text())
def test_escaping_is_undone_exactly(text: str) -> None:
    assert unescaped(escaped(text)) == text


def test_markdown_calls_nobody() -> None:
    assert "<!" not in calm("<!channel> and <@U1> and <#C1>")
    assert calm("a < b") == "a < b"


def test_mention_is_found_with_and_without_a_name() -> None:
    assert mention_of("U1").match("<@U1> hi")
    assert mention_of("U1").match("<@U1|bot> hi")
    assert mention_of("U1").match("<@U12> hi") is None
