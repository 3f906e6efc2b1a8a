"""The terminal's parts that need no server: screens, completion, history."""

from __future__ import annotations

import io
import stat
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from turnback.bots.terminal.completion import Words
from turnback.bots.terminal.prompt import CommandHistory
from turnback.bots.terminal.screens import Kind, PlainScreen

STEPS = [
    {"id": "3fa9c1d2" + "0" * 24, "turn_index": 1, "number": 1, "summary": "one", "label": "Start"},
    {"id": "77b0aa01" + "0" * 24, "turn_index": 2, "number": 1, "summary": "two", "label": None},
]
CHATS = [{"thread_id": "abcdef0123456789", "title": "Talk"}]


def complete(line: str) -> list[str]:
    words = Words(lambda: STEPS, lambda: CHATS)
    return [c.text for c in words.get_completions(Document(line), CompleteEvent())]


def test_completion_offers_commands_then_words_then_steps_newest_first() -> None:
    assert complete("/re") == ["/retention", "/reset", "/redo", "/replay"]
    assert complete("/replay l") == ["list"]
    assert complete("/replay restore ") == ["77b0aa01", "3fa9c1d2", "@Start"]
    assert complete("/replay restore @s") == ["@Start"]
    assert complete("/replay compare 3fa9c1d2 7") == ["77b0aa01"]
    assert complete("/switch ") == ["abcdef01"]


def test_completion_leaves_ordinary_text_alone() -> None:
    assert complete("hello /re") == []


def test_history_file_holds_commands_but_no_messages(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    history = CommandHistory(path, ["said before"])
    history.append_string("/replay list")
    history.append_string("my secret")
    assert "my secret" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(CommandHistory(path, ["said before"]).load_history_strings()) == ["said before", "/replay list"]


def test_plain_screen_closes_a_streamed_line_before_the_next() -> None:
    out = io.StringIO()
    screen = PlainScreen(out)
    screen.stream("You ")
    screen.stream("said")
    screen.say("note", Kind.NOTE)
    screen.end()
    assert out.getvalue() == "You said\nnote\n"


def test_plain_screen_lets_no_escape_through() -> None:
    out = io.StringIO()
    PlainScreen(out).say("a\x1b]0;title\x07b\u202e", Kind.ANSWER)
    assert out.getvalue() == "a]0;titleb\n"


def test_plain_screen_survives_an_encoding_that_lacks_a_character() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    PlainScreen(out).say("→ ok", Kind.REPLY)
    assert raw.getvalue() == b"? ok\n"
