"""Where the terminal's output goes: plain lines for scripts, or styled lines above a live prompt.

Whatever is shown passes through `core.text.harmless`: neither a model's answer nor a title can move the cursor.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TextIO

from rich.console import Console
from rich.text import Text

from turnback.core.text import harmless


class Kind(StrEnum):
    """What a piece of output is; the value is its style."""

    ANSWER = "default"
    REPLY = "cyan"
    NOTE = "dim"
    CARD = "bold yellow"
    ERROR = "red"
    HINT = "dim cyan"


class Screen(Protocol):
    """Shows things."""

    def say(self, text: str, kind: Kind) -> None:
        """Show whole lines."""
        ...

    def stream(self, text: str) -> None:
        """Show a piece of an answer as it comes."""
        ...

    def end(self) -> None:
        """The streamed answer is complete."""
        ...


class PlainScreen:
    """Plain text on a stream that is no terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._open_line = False

    def say(self, text: str, kind: Kind) -> None:
        del kind
        self.end()
        self._write(harmless(text).rstrip("\n") + "\n")

    def stream(self, text: str) -> None:
        shown = harmless(text)
        if shown:
            self._open_line = not shown.endswith("\n")
            self._write(shown)

    def end(self) -> None:
        if self._open_line:
            self._open_line = False
            self._write("\n")

    def _write(self, text: str) -> None:
        self._out.write(text.encode(self._out.encoding or "utf-8", "replace").decode(self._out.encoding or "utf-8"))
        self._out.flush()


class LiveScreen:
    """Styled lines above a prompt. `partial` is the line being streamed, which the prompt shows on top."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        # Without a file it writes to whatever sys.stdout is then: the prompt replaces it while it is shown.
        self._console = Console(force_terminal=True, highlight=False, soft_wrap=True)
        self.partial = ""
        self.changed = changed

    def say(self, text: str, kind: Kind) -> None:
        self.end()
        self._print(harmless(text).rstrip("\n"), kind)

    def stream(self, text: str) -> None:
        *lines, self.partial = (self.partial + harmless(text)).split("\n")
        for line in lines:
            self._print(line, Kind.ANSWER)
        self.changed()

    def end(self) -> None:
        if self.partial:
            line, self.partial = self.partial, ""
            self._print(line, Kind.ANSWER)

    def _print(self, text: str, kind: Kind) -> None:
        self._console.print(Text(text, style=kind.value))
