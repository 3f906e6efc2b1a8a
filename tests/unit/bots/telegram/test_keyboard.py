"""Inline keyboards."""

from __future__ import annotations

import pytest

from turnback.bots.platform import Said
from turnback.bots.replies import Button, Option, Select
from turnback.bots.telegram.keyboard import MOST_BUTTONS, Pressed, addresses, is_address, keyboard, pressed

STEP = "3fa9c1d2" * 4


def pressable(said: Said) -> list[str]:
    made = keyboard(said)
    assert made is not None
    return [str(button.callback_data) for row in made.inline_keyboard for button in row]


def test_keyboard_payload_gives_the_command_back() -> None:
    [data] = pressable(Said(text="", buttons=(Button(label="Restore", command=f"/replay restore {STEP}"),)))
    assert len(data.encode()) <= 64
    assert pressed(data) == Pressed(f"/replay restore {STEP}")


def test_keyboard_button_that_asks_says_so() -> None:
    button = Button(label="Label", command=f"/replay name {STEP}", asks="Which name?")
    [data] = pressable(Said(text="", buttons=(button,)))
    assert pressed(data) == Pressed(f"/replay name {STEP}", asks=True)


def test_keyboard_command_that_does_not_fit_is_left_out() -> None:
    long = Button(label="Long", command="/replay name " + "x" * 60)
    assert keyboard(Said(text="", buttons=(long,))) is None


def test_keyboard_choices_come_first_and_are_not_too_many() -> None:
    options = tuple(Option(label=f"Turn {n}", detail="", command=f"/replay show {n:032x}") for n in range(200))
    said = Said(text="", select=Select(placeholder="", options=options), buttons=(Button(label="Next", command="/x"),))
    data = pressable(said)
    assert len(data) == MOST_BUTTONS
    assert data[-1] == "/x"


def test_keyboard_rows_hold_what_can_be_read() -> None:
    buttons = tuple(Button(label=label, command="/x") for label in ("Restore", "Fork", "Compare with now", "Label"))
    made = keyboard(Said(text="", buttons=buttons))
    assert made is not None
    assert [[b.text for b in row] for row in made.inline_keyboard] == [
        ["Restore", "Fork", "Compare with now"],
        ["Label"],
    ]


@pytest.mark.parametrize(
    "url", ["https://turnback.example/x", "http://127.0.0.1:8765/login?link=a", "http://10.0.0.2/"]
)
def test_address_that_telegram_opens(url: str) -> None:
    assert is_address(url)


@pytest.mark.parametrize(
    "url", ["http://localhost:8765/x", "http://[::1]:8765/", "ftp://a.example", "http://", "nonsense"]
)
def test_address_that_telegram_refuses_becomes_a_line(url: str) -> None:
    said = Said(text="", buttons=(Button(label="Open", url=url),))
    assert keyboard(said) is None
    assert addresses(said) == [f"Open: {url}"]
