"""Buttons and choices as inline keyboards.

A button's payload is its command (`bots.payloads`), so it works after a restart; one that asks for a word
first has a question mark before it. What Telegram would refuse is left out, an address becomes a line of text.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from turnback.bots.payloads import fits, pack, unpack
from turnback.bots.platform import Said
from turnback.bots.replies import Button
from turnback.bots.telegram.markup import shortened

PAYLOAD_BYTES = 64
"""https://core.telegram.org/bots/api#inlinekeyboardbutton"""

ASKS = "?"
"""Before the command of a button that asks for its last word."""

MOST_BUTTONS = 60
"""Telegram takes 100; that many cannot be looked through."""

LABEL = 40
ROW = 30
"""Characters of the labels in a row together."""

MOST_IN_ROW = 3


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a payload stands for. `asks`: the command lacks its last word."""

    command: str
    asks: bool = False


def keyboard(said: Said) -> InlineKeyboardMarkup | None:
    """The keyboard under a message: its choices in rows, then its buttons."""
    options = said.select.options if said.select else ()
    choices = [_button(Button(label=option.label, command=option.command)) for option in options]
    buttons = [_button(button) for button in said.buttons]
    kept = [b for b in buttons if b is not None]
    rows = [*_rows([c for c in choices if c is not None][: MOST_BUTTONS - len(kept)]), *_rows(kept)]
    return InlineKeyboardMarkup(rows) if rows else None


def addresses(said: Said) -> list[str]:
    """Lines for what has an address that Telegram takes for none, such as a bare host name."""
    return [f"{b.label}: {b.url}" for b in said.buttons if b.url is not None and not is_address(b.url)]


def pressed(payload: str) -> Pressed:
    """What a press on a button of ours asks for."""
    if payload.startswith(ASKS):
        return Pressed(unpack(payload[len(ASKS) :]), asks=True)
    return Pressed(unpack(payload))


def is_address(url: str) -> bool:
    """Whether Telegram opens it: http or https, and a host with a dot, or a numeric one."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if ":" in host:
            return False
        numeric = bool(host) and host.replace(".", "").isdigit() and bool(ipaddress.ip_address(host))
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and (numeric or "." in host.strip("."))


def _button(button: Button) -> InlineKeyboardButton | None:
    label = shortened(button.label, LABEL)
    if button.url is not None:
        return InlineKeyboardButton(label, url=button.url) if is_address(button.url) else None
    mark = ASKS if button.asks is not None else ""
    if button.command is None or not fits(button.command, PAYLOAD_BYTES - len(mark)):
        return None
    return InlineKeyboardButton(label, callback_data=mark + pack(button.command))


def _rows(buttons: Sequence[InlineKeyboardButton]) -> list[list[InlineKeyboardButton]]:
    rows: list[list[InlineKeyboardButton]] = []
    for button in buttons:
        width = sum(len(b.text) for b in rows[-1]) + len(button.text) if rows else 0
        if rows and len(rows[-1]) < MOST_IN_ROW and width <= ROW:
            rows[-1].append(button)
        else:
            rows.append([button])
    return rows
