"""Buttons, choices and forms as Discord's components."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from discord import ui

from turnback.bots.discord.buttons import CHOOSES, FORM_FIELD, Pressed, filled, form, view
from turnback.bots.payloads import unpack
from turnback.bots.platform import Said
from turnback.bots.replies import Button, Option, Select

STEP, OTHER = uuid4().hex, uuid4().hex


def shown(said: Said, link: str | None = None) -> list[Any]:
    made = view(said, link)
    return list(made.children) if made is not None else []


async def test_button_holds_its_command_within_100_characters() -> None:
    [button] = shown(Said(text="x", buttons=(Button(label="Compare", command=f"/replay compare {STEP} {OTHER}"),)))
    assert len(button.custom_id) <= 100
    assert unpack(button.custom_id[3:]) == f"/replay compare {STEP} {OTHER}"


async def test_command_that_does_not_fit_is_left_out() -> None:
    assert shown(Said(text="x", buttons=(Button(label="Long", command="/replay show " + "a" * 100),))) == []


async def test_same_command_twice_is_one_button() -> None:
    twice = (Button(label="One", command="/undo"), Button(label="Two", command="/undo"))
    assert [button.label for button in shown(Said(text="x", buttons=twice))] == ["One"]


async def test_no_more_than_discord_takes_are_shown_with_choice_and_link() -> None:
    options = tuple(Option(label=f"{n}" * 90, detail="d", command=f"/replay show {uuid4().hex}") for n in range(30))
    buttons = tuple(Button(label=f"{n}", command=f"/undo {n}") for n in range(1, 40))
    items = shown(
        Said(text="x", buttons=buttons, select=Select(placeholder="Which?", options=options)),
        "https://discord.com/channels/@me/1/2",
    )
    [select] = [item for item in items if isinstance(item, ui.Select)]
    assert select.custom_id == CHOOSES
    assert len(select.options) == 25
    assert all(len(option.value) <= 100 and len(option.label) <= 100 for option in select.options)
    assert len(items) == 1 + 20
    assert items[-1].url == "https://discord.com/channels/@me/1/2"


async def test_library_keeps_no_view_of_ours() -> None:
    made = view(Said(text="x", buttons=(Button(label="Undo", command="/undo"),)))
    assert made is not None
    assert made.is_finished()


async def test_form_completes_its_command_with_one_line() -> None:
    modal = form(Pressed(f"/replay name {STEP}", asks=True), "Label " * 20)
    assert len(modal.title) <= 45
    sent = {
        "custom_id": modal.custom_id,
        "components": [{"type": 1, "components": [{"custom_id": FORM_FIELD, "value": "first\ntry"}]}],
    }
    assert filled(sent) == f"/replay name {STEP} first try"


def test_form_of_somebody_else_is_left_alone() -> None:
    assert filled({"custom_id": "feedback", "components": []}) is None
    assert filled(None) is None
