"""Old commands: what destroys or goes back is asked about when it comes late, after an outage perhaps."""

from __future__ import annotations

from datetime import datetime, timedelta

from turnback.bots.commands import Command, MemoryForget, Redo, Reset, Restore, Undo
from turnback.bots.telling import age
from turnback.bots.words import printable

OLD_AFTER = timedelta(minutes=10)


def needs_question(command: Command, sent_at: datetime, now: datetime, *, discards: bool) -> bool:
    """Whether a command is to be asked about because it is old.

    Those that ask anyway (clear, delete, memory off; restore where that `discards`) ask once, as always.
    """
    if now - sent_at < OLD_AFTER:
        return False
    if isinstance(command, Restore):
        return not discards
    return isinstance(command, Undo | Redo | Reset | MemoryForget)


def question(text: str, sent_at: datetime, now: datetime) -> str:
    """What to ask."""
    return f"“{printable(text, 60)}” was sent {age(sent_at, now)} ago, and only comes in now. Do it?"
