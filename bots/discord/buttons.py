"""Buttons and choices as Discord's components.

A button's `custom_id` is its command (`bots.payloads`) behind a mark, so it works after a restart: it is known by
its pattern, not by a view that is kept. What Discord would refuse is left out, an address that it does not open
becomes a line of text.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import discord
from discord import ui

from turnback.bots.commands import asked_for
from turnback.bots.payloads import fits, pack, unpack
from turnback.bots.platform import Said
from turnback.bots.replies import Button, Select
from turnback.bots.words import printable

DOES, ASKS, CHOOSES, ANSWERS = "tb!", "tb?", "tb:", "tb="
"""What the ids begin with: of a button that does something, one that asks first, a select, a form."""

ID, LABEL, TITLE, URL = 100, 80, 45, 512
ROWS, IN_A_ROW, MOST_OPTIONS, OPTION = 5, 5, 25, 100

FORM_FIELD = "tb.word"
WORD = 200

_FORM = re.compile(re.escape(ANSWERS) + r"(?P<payload>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a press asks for. `asks`: the command lacks its last word."""

    command: str
    asks: bool = False


OnPress = Callable[[discord.Interaction[Any], Pressed], Awaitable[None]]


def view(said: Said, link: str | None = None) -> ui.View | None:
    """The components under a message; `link` is the address of the message that it is about."""
    made = ui.View(timeout=None)
    select = _select(said.select) if said.select else None
    if select is not None:
        made.add_item(select)
    room = IN_A_ROW * (ROWS - (select is not None)) - (link is not None)
    for button in list(_buttons(said.buttons))[:room]:
        made.add_item(button)
    if link is not None:
        made.add_item(ui.Button(label="Where it stands", url=link))
    made.stop()  # so that the library keeps none of them: ours are known by their patterns
    return made if made.children else None


def addresses(said: Said) -> list[str]:
    """Lines for what has an address that Discord takes for none."""
    return [f"{b.label}: {b.url}" for b in said.buttons if b.url is not None and not is_address(b.url)]


def is_address(url: str) -> bool:
    """Whether Discord opens it: http or https, and a host with a dot."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "." in host.strip(".") and len(url) <= URL and " " not in url


def items(on_press: OnPress) -> Sequence[type[ui.DynamicItem[Any]]]:
    """The kinds of components that we know again by their ids, for `Client.add_dynamic_items`."""

    class Pressable(ui.DynamicItem[ui.Button[Any]], template=r"tb(?P<mark>[!?])(?P<payload>[\s\S]+)"):
        def __init__(self, item: ui.Button[Any], pressed: Pressed) -> None:
            super().__init__(item)
            self.pressed = pressed

        @classmethod
        async def from_custom_id(cls, _: discord.Interaction[Any], item: ui.Item[Any], found: re.Match[str]) -> Self:
            assert isinstance(item, ui.Button)
            return cls(item, Pressed(unpack(found["payload"]), asks=found["mark"] == "?"))

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            await on_press(interaction, self.pressed)

    class Choosable(ui.DynamicItem[ui.Select[Any]], template=re.escape(CHOOSES)):
        @classmethod
        async def from_custom_id(cls, _: discord.Interaction[Any], item: ui.Item[Any], __: re.Match[str]) -> Self:
            assert isinstance(item, ui.Select)
            return cls(item)

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            for value in self.item.values[:1]:
                await on_press(interaction, Pressed(unpack(str(value))))

    return Pressable, Choosable


def form(pressed: Pressed, label: str) -> ui.Modal:
    """The form that asks for a command's last word."""
    title = printable(label, TITLE) or "One word more"
    modal = ui.Modal(title=title, timeout=None, custom_id=ANSWERS + pack(pressed.command))
    asked = printable(asked_for(pressed.command), TITLE)
    modal.add_item(ui.TextInput(label=asked, custom_id=FORM_FIELD, max_length=WORD))
    modal.stop()  # what is sent back is known by its id
    return modal


def filled(data: Any) -> str | None:
    """The command that a form completes; None for a form that is not ours."""
    found = _FORM.fullmatch(str((data or {}).get("custom_id", "")))
    if found is None:
        return None
    words = " ".join(" ".join(_values(data.get("components") or [])).split())
    return f"{unpack(found['payload'])} {words}"


def _values(components: Any) -> Iterator[str]:
    for component in components:
        if component.get("custom_id") == FORM_FIELD:
            yield str(component.get("value") or "")
        yield from _values(component.get("components") or [])
        if isinstance(component.get("component"), dict):
            yield from _values([component["component"]])


def _buttons(buttons: Sequence[Button]) -> Iterator[ui.Button[Any]]:
    seen = set[str]()
    for button in buttons:
        made = _button(button)
        if made is not None and (made.custom_id is None or made.custom_id not in seen):
            seen.add(made.custom_id or "")
            yield made


def _button(button: Button) -> ui.Button[Any] | None:
    label = printable(button.label, LABEL) or "Go on"
    if button.url is not None:
        return ui.Button(label=label, url=button.url) if is_address(button.url) else None
    mark = ASKS if button.asks is not None else DOES
    if button.command is None or not fits(button.command, ID - len(mark)):
        return None
    return ui.Button(label=label, custom_id=mark + pack(button.command), style=discord.ButtonStyle.secondary)


def _select(select: Select) -> ui.Select[Any] | None:
    options = dict[str, discord.SelectOption]()
    for option in select.options:
        if fits(option.command, OPTION) and len(options) < MOST_OPTIONS:
            value = pack(option.command)
            made = discord.SelectOption(
                label=printable(option.label, OPTION) or "…",
                value=value,
                description=printable(option.detail, OPTION) or None,
            )
            options.setdefault(value, made)
    if not options:
        return None
    placeholder = printable(select.placeholder, OPTION) or None
    return ui.Select(custom_id=CHOOSES, placeholder=placeholder, options=list(options.values()))
