"""Modals as the client has them: filling in, sending off, and what the app's answer does to them."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.core import ClientRefused, Json
from platforms.slack import blocks as kit


def filled_in(view: Json, values: Mapping[str, str]) -> Json:
    """The modal with what the person put into it, by action_id."""
    state: dict[str, Json] = {}
    unused = set(values)
    for block in view["blocks"]:
        if block["type"] != "input":
            continue
        element = block["element"]
        unused.discard(element["action_id"])
        value = values.get(element["action_id"], element.get("initial_value"))
        state.setdefault(block["block_id"], {})[element["action_id"]] = _entered(block, element, value)
    if unused:
        raise ClientRefused(f"the modal has no field {sorted(unused)}")
    return view | {"state": {"values": state}}


def take_answer(views: list[Json], view: Json, answer: Json) -> None:
    """Slack closes the modal unless the app's acknowledgement asks for something else."""
    match answer.get("response_action"):
        case "clear":
            views.clear()
        case "update":
            views[-1] = kept(view, answer["view"])
        case "push":
            views.append(kept(view, answer["view"]) | {"id": f"{view['id']}.{len(views)}"})
        case "errors":
            views[-1]["errors"] = answer["errors"]
        case _:
            views.pop()


def kept(old: Json, new: Json) -> Json:
    """The new modal in the place of the old one."""
    for number, block in enumerate(new["blocks"]):
        block.setdefault("block_id", f"v{number}")
    return {**{name: old[name] for name in ("id", "team_id", "app_id", "bot_id")}, "private_metadata": "", **new}


def _entered(block: Json, element: Json, value: str | None) -> Json:
    if value is None and not block.get("optional"):
        raise ClientRefused(f"the field {element['action_id']!r} is required")
    if element["type"] == "static_select":
        chosen = next((option for option in element["options"] if option["value"] == value), None)
        if value is not None and chosen is None:
            raise ClientRefused(f"no option {value!r}")
        return {"type": element["type"], "selected_option": chosen}
    least, most = element.get("min_length", 0), element.get("max_length", kit.INPUT_LIMIT)
    if value is not None and not least <= len(value) <= most:
        raise ClientRefused(f"the field {element['action_id']!r} takes {least} to {most} characters")
    return {"type": element["type"], "value": value}
