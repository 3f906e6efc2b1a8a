"""The conversation that docs/transcript.md shows: `turnback chat` with the demo agent, as scripts and people use it.

    PYTHONPATH=tests python -m support.terminal_conversation > docs/transcript.md

writes it anew: the real program against a real server, both as processes of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

from support.servers import PROGRAM, calling, environment, serving, token_of
from support.transcript import SameIds

SECONDS = 60
"""How long an answer may take: tests share their machine."""

SETTINGS = {"TURNBACK_AGENT__SHELL": "unconfined", "TURNBACK_WEB__PUBLIC_URL": "https://chat.example.org"}
PLAIN = {"TERM": "dumb", "PYTHONUTF8": "1"}

BEGIN = """\
# A conversation, recorded

`turnback chat` with the demo agent; the tests write this page and check that it is still true. Lines after `>` were
typed; all else is what the terminal showed. Buttons are numbered there: `/1` presses the first.

Talk, list, go back and forth, look, compare, name, a phone's curly quotes, a tree, undo and redo, mistakes, a fork that
is continued, an approval in the way of an undo and its refusal, and clearing with its question:
"""
LIVE = """\
While a turn runs, at the live prompt:
"""

_NO_BUTTON = "/99"
_ANSWERED = "There is no such button now.\n"
"""What comes of that: then everything before is answered."""

_AGE = re.compile(r"· \d+ min\b")
_MOMENT = re.compile(r"\d+ \w{3} \d{4}, \d\d:\d\d UTC")


@dataclass
class Page:
    """What was typed and shown so far."""

    lines: list[str] = field(default_factory=list)
    ids: SameIds = field(default_factory=SameIds)

    def prose(self, text: str) -> None:
        """An explanation."""
        self.lines += [text, "```"]

    def note(self, text: str) -> None:
        """What was shown; as it would be in any other run."""
        text = _MOMENT.sub("2 Mar 2026, 09:00 UTC", _AGE.sub("· just now", text))
        self.lines += self.ids(text).splitlines()

    def end(self) -> None:
        """Enough of that."""
        self.lines += ["```", ""]

    def text(self) -> str:
        """All of it, as Markdown."""
        return "\n".join(self.lines).rstrip() + "\n"


@dataclass
class Script:
    """Lines in, plain text out."""

    process: subprocess.Popen[str]
    page: Page

    def type(self, line: str, **steps: str) -> str:
        """Type a line, with ids of steps where it names them; what it brought to the screen."""
        said = self._answer(line.format(**steps))
        self.page.note(f"\n> {line.format(**{name: self.page.ids(step) for name, step in steps.items()})}")
        self.page.note(said)
        return said

    def _answer(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n{_NO_BUTTON}\n")
        self.process.stdin.flush()
        return "".join(self._said())

    def _said(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for said in self.process.stdout:
            if said == _ANSWERED:
                return
            yield said
        raise AssertionError("the program ended")


def recorded(folder: Path) -> str:
    """The page."""
    page, home = Page(), {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    with serving("--data", folder / "data", cwd=folder, env=SETTINGS | home) as server:
        page.prose(BEGIN)
        with script(folder, page, home) as chat:
            _go_back(chat)
            _branch(chat)
            _approve_and_clear(chat)
        page.end()
        page.prose(LIVE)
        _live(folder, page, home, server.url)
        page.end()
    return page.text()


@contextmanager
def script(folder: Path, page: Page, home: dict[str, str]) -> Iterator[Script]:
    """`turnback chat` with a script at both ends."""
    with subprocess.Popen(
        [*PROGRAM, "chat", "--data", str(folder / "data")],
        cwd=folder,
        env=environment(home | PLAIN),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        chat = Script(process, page)
        page.note(chat._answer(""))
        yield chat
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def _go_back(chat: Script) -> None:
    chat.type("I want to plan a trip to Lisbon")
    chat.type("plan flights; hotel; museum")
    chat.type("remember I prefer trains")
    chat.type("write notes.txt book the hotel first")
    listed = chat.type("/replay list")
    first, plan, note, last = (_step(listed, *at) for at in ((1, 1), (2, 1), (2, 3), (4, 2)))
    chat.type("/replay {step}", step=plan)
    chat.type("/1")
    chat.type("/replay show {step}", step=plan)
    chat.type("/replay compare {a} {b}", a=first, b=last)
    chat.type("/replay name {step} start", step=first)
    chat.type("/replay “@start”")
    chat.type("history")
    chat.type("/replay tree")
    chat.type("/undo")
    chat.type("/redo")
    chat.type("/repaly list")
    chat.type("/replay 3")
    chat.type("/replay zzzz")
    chat.type("/fork {step}", step=note)


def _branch(chat: Script) -> None:
    chat.type("/2")
    chat.type("and now?")
    chat.type("/replay list")
    chat.type("/chats")


def _approve_and_clear(chat: Script) -> None:
    chat.type("shell echo hello")
    chat.type("/undo")
    chat.type("n")
    chat.type("/replay clear")
    chat.type("y")
    chat.type("/replay")
    chat.type("/memory list")


def _live(folder: Path, page: Page, home: dict[str, str], url: str) -> None:
    """The same at a terminal."""
    command = [*PROGRAM[1:], "chat", "--new", "--account", "ann", "--data", str(folder / "data")]
    screen: pexpect.spawn[str] = pexpect.spawn(
        PROGRAM[0], command, cwd=str(folder), env=environment(home | PLAIN), encoding="utf-8", timeout=SECONDS,
        dimensions=(50, 160),
    )  # fmt: skip

    def shows(*lines: str) -> None:
        for line in lines:
            screen.expect(f"{line}[^\r\n]*")
            page.note(str(screen.after))

    def type_(line: str, *seen: str) -> None:
        screen.sendline(line)
        page.note(f"> {line}")
        shows(*seen)

    try:
        shows("/help shows")
        screen.expect("› ")
        type_("slow 30")
        _until_running(folder, url)
        type_("/undo", "A turn is running")
        type_("/stop", "Stopped")
        type_("shell uname", "Approval: ", "Approve")
        type_("n", "denied: ")
        screen.sendeof()
        screen.expect(pexpect.EOF)
    finally:
        screen.close(force=True)


def _until_running(folder: Path, url: str) -> None:
    token = token_of(folder, "--account", "ann", "--data", folder / "data")
    deadline = time.monotonic() + SECONDS
    with calling(url, token) as call:
        while not any(thread["turn_running"] for thread in call("GET", "/api/threads")["threads"]):
            assert time.monotonic() < deadline, "no turn runs"


def _step(listed: str, turn: int, step: int) -> str:
    """The id of a step in a list."""
    return str(re.findall(rf"turn {turn}, step {step} · ([0-9a-f]{{8}})", listed)[0])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(recorded(Path(folder)))


if __name__ == "__main__":
    main()
