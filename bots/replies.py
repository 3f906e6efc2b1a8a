"""What is said back, free of any platform: plain text, buttons, a choice of steps.

The text is made of lines; the first says what happened. Commands and ids stand in it as they are
typed. Each adapter escapes, splits and decorates it in its platform's own form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from turnback.core.models import StepId, ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """Something to press: a command that is sent as if typed, or an address to open.

    With `asks`, the command lacks its last word: an adapter that can ask for it does (`asks` is the
    question) and sends both; one that cannot leaves the button out.
    """

    label: str
    command: str | None = None
    url: str | None = None
    asks: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One choice of a select: what it says, what it adds to that, what it sends."""

    label: str
    detail: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """A choice of one out of many."""

    placeholder: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer to a command.

    `error` is the refusal's code. `private`: only the asker may see it. `stands_at`: the step where the
    chat now stands; the answer goes as a reply to the message that this step ended with. `switch_to`:
    the thread that this place talks into from now on. `moved`: the chat stands elsewhere than before.
    `replaces`: under a pressed button, it is shown in place of the message with the button (another page, a
    question that is answered).
    """

    text: str
    buttons: tuple[Button, ...] = ()
    select: Select | None = None
    error: str | None = None
    private: bool = False
    stands_at: StepId | None = None
    switch_to: ThreadId | None = None
    moved: bool = False
    replaces: bool = False


def reply_json(reply: Reply) -> dict[str, Any]:
    """A reply as HTTP answers it."""
    buttons = [
        {"label": b.label, "url": b.url} if b.url is not None else {"label": b.label, "command": b.command}
        for b in reply.buttons
        if b.asks is None
    ]
    return {"text": reply.text, "buttons": buttons, "error": reply.error}
