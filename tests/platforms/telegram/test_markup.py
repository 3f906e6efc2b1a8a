"""Reading MarkdownV2, HTML and what Telegram finds in plain text."""

from __future__ import annotations

import pytest
from platforms.core import Json
from platforms.telegram.entities import ParseError, piece, trimmed, with_found
from platforms.telegram.html import parse_html
from platforms.telegram.markdown import parse_markdown


def shown(read: tuple[str, list[Json]]) -> tuple[str, list[tuple[str, str]]]:
    text, entities = read
    return text, [(entity["type"], piece(text, entity)) for entity in entities]


MARKDOWN: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("*b* _i_", "b i", [("bold", "b"), ("italic", "i")]),
    ("__u__ ~s~ ||p||", "u s p", [("underline", "u"), ("strikethrough", "s"), ("spoiler", "p")]),
    ("*a _b_ c*", "a b c", [("bold", "a b c"), ("italic", "b")]),
    (r"1 \+ 1 \= 2\.", "1 + 1 = 2.", []),
    ("`a*b_c.`", "a*b_c.", [("code", "a*b_c.")]),
    ("```python\nx = [1]\n```", "x = [1]\n", [("pre", "x = [1]\n")]),
    ("[a link](https://a.example/?q=\\))", "a link", [("text_link", "a link")]),
    (">one\n>two\nthree", "one\ntwo\nthree", [("blockquote", "one\ntwo\n")]),
    (">one||", "one", [("expandable_blockquote", "one")]),
    ("😀 *b*", "😀 b", [("bold", "b")]),
]
HTML: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("<b>b</b> <i>i</i>", "b i", [("bold", "b"), ("italic", "i")]),
    ("1 &lt; 2 &amp; 3", "1 < 2 & 3", []),
    ('<a href="https://a.example/?a=1&amp;b=2">x</a>', "x", [("text_link", "x")]),
    ('<pre><code class="language-python">x</code></pre>', "x", [("pre", "x")]),
    ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", "q")]),
    ("😀<code>c</code>", "😀c", [("code", "c")]),
]


@pytest.mark.parametrize(("source", "text", "entities"), MARKDOWN)
def test_reading_markdown(source: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert shown(parse_markdown(source)) == (text, entities)


@pytest.mark.parametrize(
    "source", ["a.b", "1-2", "*open", "_open", "`open", "```open", "[x](http://a", ">a *b\n", "x>"]
)
def test_reading_wrong_markdown_is_an_error(source: str) -> None:
    with pytest.raises(ParseError):
        parse_markdown(source)


@pytest.mark.parametrize(("source", "text", "entities"), HTML)
def test_reading_html(source: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert shown(parse_html(source)) == (text, entities)


@pytest.mark.parametrize("source", ["<p>x</p>", "<b>x", "x</b>", "<b><i>x</b></i>", "a < b", "<span>x</span>"])
def test_reading_wrong_html_is_an_error(source: str) -> None:
    with pytest.raises(ParseError):
        parse_html(source)


def test_telegram_finds_commands_and_links_but_not_in_code() -> None:
    text = "/replay@turnback_bot see https://a.example/x, ask @ann or #help; /usr/bin `/no`"
    code = {"type": "code", "offset": text.index("/no"), "length": 3}
    assert shown((text, with_found(text, [code])))[1] == [
        ("bot_command", "/replay@turnback_bot"),
        ("url", "https://a.example/x"),
        ("mention", "@ann"),
        ("hashtag", "#help"),
        ("code", "/no"),
    ]


def test_trimming_moves_entities_along() -> None:
    bold = {"type": "bold", "offset": 1, "length": 4}
    assert trimmed("  ab  ", [bold]) == ("ab", [{"type": "bold", "offset": 0, "length": 2}])
