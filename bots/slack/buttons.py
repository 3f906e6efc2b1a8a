"""Buttons and choices as Block Kit.

A button's value is its command, so it works after a restart. What Slack would refuse is left out. Limits:
https://docs.slack.dev/reference/block-kit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from turnback.bots.platform import Said
from turnback.bots.replies import Button, Select

OURS = "turnback:"
"""What the action ids of our buttons begin with."""

ASK, LINK, CHOICE = f"{OURS}ask:", f"{OURS}link:", f"{OURS}choose"

LABEL, VALUE, CHOICE_VALUE, URL = 75, 2000, 150, 3000
IN_A_ROW, MOST_OPTIONS, MOST_BUTTONS = 25, 100, 25

MOST_CHARACTERS = 4500
"""Of all labels together: they count for what a message may hold, as its text does."""

Block = dict[str, Any]


def controls(said: Said) -> list[Block]:
    """The blocks under a text. Where they are too long together, choices lose their details, then their tail."""
    buttons = [found for number, button in enumerate(said.buttons[:MOST_BUTTONS]) if (found := _button(number, button))]
    select = _select(said.select) if said.select else None
    if select is not None:
        _fit(select, MOST_CHARACTERS - size(buttons))
    elements = [*([select] if select else []), *buttons]
    rows = (elements[start : start + IN_A_ROW] for start in range(0, len(elements), IN_A_ROW))
    return [{"type": "actions", "elements": row} for row in rows]


def size(blocks: list[Block]) -> int:
    """The characters that people read on them."""
    return sum(_texts(blocks))


def shortened(text: str, limit: int) -> str:
    """A text of one line that is not longer than that."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def pressed(action: Mapping[str, Any]) -> str | None:
    """The command of what was pressed or chosen; None where it is none of ours."""
    action_id = str(action.get("action_id", ""))
    if not action_id.startswith(OURS) or action_id.startswith(LINK):
        return None
    chosen = action.get("selected_option")
    value = chosen.get("value") if isinstance(chosen, Mapping) else action.get("value")
    return value if isinstance(value, str) and value else None


def asks(action: Mapping[str, Any]) -> bool:
    """Whether a press first asks for the command's last word."""
    return str(action.get("action_id", "")).startswith(ASK)


def _button(number: int, button: Button) -> Block | None:
    body: Block = {"type": "button", "text": _plain(button.label or "Go on")}
    if button.url is not None:
        return body | {"action_id": f"{LINK}{number}", "url": button.url} if len(button.url) <= URL else None
    if button.command is None or len(button.command) > VALUE:
        return None
    kind = ASK if button.asks is not None else OURS
    return body | {"action_id": f"{kind}{number}", "value": button.command}


def _select(select: Select) -> Block | None:
    options: list[Block] = []
    for option in select.options:
        if len(option.command) <= CHOICE_VALUE and len(options) < MOST_OPTIONS:
            body: Block = {"text": _plain(option.label or "…"), "value": option.command}
            options.append(body | ({"description": _plain(option.detail)} if option.detail.strip() else {}))
    if not options:
        return None
    placeholder = {"placeholder": _plain(select.placeholder)} if select.placeholder.strip() else {}
    return {"type": "static_select", "action_id": CHOICE, "options": options, **placeholder}


def _fit(select: Block, limit: int) -> None:
    options: list[Block] = select["options"]
    if size([select]) > limit:
        for option in options:
            option.pop("description", None)
    while size([select]) > limit and len(options) > 1:
        options.pop()


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": shortened(text, LABEL) or "…", "emoji": False}


def _texts(node: Any) -> Iterator[int]:
    if isinstance(node, list):
        for each in node:
            yield from _texts(each)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name == "text" and isinstance(value, str):
                yield len(value)
            else:
                yield from _texts(value)
