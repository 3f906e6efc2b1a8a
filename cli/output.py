"""What commands print: results on stdout, everything else on stderr; and how they end when they fail."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from turnback.core.text import one_line


class Failed(Exception):
    """The command failed; the message is the one line that is said."""


def fail(line: str) -> NoReturn:
    """End the command with one line on stderr and exit code 1."""
    raise Failed(line)


def show(data: Any, as_json: bool, *lines: str) -> None:
    """A result: JSON for scripts, or lines for people."""
    if as_json:
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
    else:
        for line in lines:
            sys.stdout.write(printable(line) + "\n")
    sys.stdout.flush()


def note(line: str) -> None:
    """One line on stderr."""
    sys.stderr.write(printable(one_line(line, 1000)) + "\n")
    sys.stderr.flush()


def printable(text: str) -> str:
    """Without what would steer a terminal, or what it cannot show: chats hold text of anybody."""
    kept = "".join(c if c in "\n\t" or (c.isprintable() or c == "\u200d") else "\ufffd" for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    return kept.encode(encoding, "replace").decode(encoding)


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Show that long work goes on, where somebody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield


def confirmed(question: str, yes: bool) -> bool:
    """Ask, where somebody can answer; scripts said yes by calling."""
    if yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
