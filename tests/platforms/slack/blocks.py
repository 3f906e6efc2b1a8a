"""Block Kit: what Slack takes, and what it says of the rest.

https://docs.slack.dev/reference/block-kit. Only what this project uses is known; any other block or element
is refused, so that it is added here knowingly. Problems are Slack's sentences with a JSON pointer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from platforms.core import Json

MESSAGE_BLOCKS, VIEW_BLOCKS, VIEW_BYTES = 50, 100, 250_000
SECTION_LIMIT, FIELD_LIMIT, FIELDS_LIMIT, HEADER_LIMIT = 3000, 2000, 10, 150
ACTIONS_LIMIT, CONTEXT_LIMIT, ID_LIMIT = 25, 10, 255
MARKDOWN_LIMIT = 12_000
"""Of all markdown blocks of a message together."""
LABEL_LIMIT, VALUE_LIMIT, URL_LIMIT, OPTION_LIMIT, PLACEHOLDER_LIMIT = 75, 2000, 3000, 150, 150
OPTIONS = {"static_select": 100, "overflow": 5}
MODAL_WORD_LIMIT, METADATA_LIMIT, INPUT_LABEL_LIMIT, INPUT_LIMIT = 24, 3000, 2000, 3000


class Problems:
    """The sentences about one message or view, and what they are about."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self._block_ids: set[str] = set()
        self.markdown = 0

    def add(self, sentence: str, where: str) -> None:
        self.sentences.append(f"[ERROR] {sentence} [json-pointer:{where}]")

    def length(self, value: Any, limit: int, where: str, *, least: int = 1, required: bool = False) -> None:
        """A text or list of `least` to `limit`."""
        if value is None:
            if required:
                self.add("missing required field", where)
        elif not isinstance(value, str | list):
            self.add("must be a string or an array", where)
        elif len(value) > limit:
            text = isinstance(value, str)
            self.add(
                f"must be less than {limit + 1} characters" if text else f"no more than {limit} items allowed", where
            )
        elif len(value) < least:
            self.add(f"must be more than {least - 1} {'characters' if isinstance(value, str) else 'items'}", where)

    def text(self, value: Any, limit: int, where: str, *, plain: bool = False, required: bool = True) -> None:
        """A text object."""
        if value is None:
            if required:
                self.add("missing required field", where)
            return
        kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
        if not isinstance(value, dict) or value.get("type") not in kinds:
            self.add("unsupported type", f"{where}/type")
            return
        self.length(value.get("text"), limit, f"{where}/text", required=True)

    def new_block_id(self, block_id: Any, where: str) -> None:
        self.length(block_id, ID_LIMIT, where)
        if block_id in self._block_ids:
            self.add("`block_id` already exists", where)
        if isinstance(block_id, str):
            self._block_ids.add(block_id)


def check_blocks(blocks: Any, problems: Problems, *, root: str = "/blocks", view: bool = False) -> None:
    """The blocks of a message, or of a view."""
    if not isinstance(blocks, list):
        problems.add("must be an array", root)
        return
    problems.length(blocks, VIEW_BLOCKS if view else MESSAGE_BLOCKS, root, least=0)
    for number, block in enumerate(blocks):
        where = f"{root}/{number}"
        kind = block.get("type") if isinstance(block, dict) else None
        check = _BLOCKS.get(str(kind))
        if check is None or (kind == "markdown" and view) or (kind == "input" and not view):
            problems.add(f"unsupported type: {kind}", f"{where}/type")
            continue
        problems.new_block_id(block.get("block_id"), f"{where}/block_id")
        check(block, where, problems)
    if problems.markdown > MARKDOWN_LIMIT:
        problems.add(f"must be less than {MARKDOWN_LIMIT + 1} characters in all markdown blocks", root)


def check_view(view: Json, problems: Problems) -> None:
    """A modal."""
    if view.get("type") != "modal":
        problems.add(f"unsupported type: {view.get('type')}", "/view/type")
    problems.text(view.get("title"), MODAL_WORD_LIMIT, "/view/title", plain=True)
    for name in ("submit", "close"):
        problems.text(view.get(name), MODAL_WORD_LIMIT, f"/view/{name}", plain=True, required=False)
    problems.length(view.get("private_metadata"), METADATA_LIMIT, "/view/private_metadata", least=0)
    problems.length(view.get("callback_id"), ID_LIMIT, "/view/callback_id", least=0)
    blocks = view.get("blocks")
    if isinstance(blocks, list) and any(block.get("type") == "input" for block in blocks) and not view.get("submit"):
        problems.add("missing required field: submit", "/view")
    check_blocks(blocks, problems, root="/view/blocks", view=True)


def view_is_too_large(view: Json) -> bool:
    return len(json.dumps(view)) > VIEW_BYTES


def text_size(node: Any) -> int:
    """The characters of every text in a tree of blocks."""
    if isinstance(node, list):
        return sum(map(text_size, node))
    if isinstance(node, dict):
        texts = (
            len(value) if name == "text" and isinstance(value, str) else text_size(value)
            for name, value in node.items()
        )
        return sum(texts)
    return 0


def texts(blocks: list[Json]) -> list[Json]:
    """What people read in blocks, as text objects; labels of buttons are not among it."""
    found: list[Json] = []
    for block in blocks:
        match block["type"]:
            case "section":
                found += [*([block["text"]] if block.get("text") else []), *block.get("fields", [])]
            case "header":
                found.append(block["text"])
            case "context":
                found += [element for element in block["elements"] if "text" in element]
            case "markdown":
                found.append({"type": "markdown", "text": block["text"]})
            case "input":
                found.append(block["label"])
    return found


def elements(blocks: list[Json]) -> list[Json]:
    """What people can use in blocks, each with its block_id."""
    found = []
    for block in blocks:
        inside = block["elements"] if block["type"] == "actions" else [block.get("accessory"), block.get("element")]
        found += [{**element, "block_id": block.get("block_id", "")} for element in inside if element]
    return found


def _over(value: str | list[Any], limit: int) -> str:
    return (
        f"must be less than {limit + 1} characters" if isinstance(value, str) else f"no more than {limit} items allowed"
    )


def _section(block: Json, where: str, problems: Problems) -> None:
    if block.get("text") is None and not block.get("fields"):
        problems.add("must define either `fields` or `text`", where)
    problems.text(block.get("text"), SECTION_LIMIT, f"{where}/text", required=False)
    problems.length(block.get("fields"), FIELDS_LIMIT, f"{where}/fields")
    for number, field in enumerate(block.get("fields") or []):
        problems.text(field, FIELD_LIMIT, f"{where}/fields/{number}")
    if block.get("accessory"):
        _elements([block["accessory"]], f"{where}/accessory", problems, _ELEMENTS)


def _header(block: Json, where: str, problems: Problems) -> None:
    problems.text(block.get("text"), HEADER_LIMIT, f"{where}/text", plain=True)


def _actions(block: Json, where: str, problems: Problems) -> None:
    problems.length(block.get("elements"), ACTIONS_LIMIT, f"{where}/elements", required=True)
    _elements(block.get("elements"), f"{where}/elements", problems, _ELEMENTS)


def _context(block: Json, where: str, problems: Problems) -> None:
    problems.length(block.get("elements"), CONTEXT_LIMIT, f"{where}/elements", required=True)
    for number, element in enumerate(block.get("elements") or []):
        problems.text(element, SECTION_LIMIT, f"{where}/elements/{number}")


def _markdown(block: Json, where: str, problems: Problems) -> None:
    problems.length(block.get("text"), MARKDOWN_LIMIT, f"{where}/text", required=True)
    problems.markdown += len(str(block.get("text")))


def _input(block: Json, where: str, problems: Problems) -> None:
    problems.text(block.get("label"), INPUT_LABEL_LIMIT, f"{where}/label", plain=True)
    problems.text(block.get("hint"), INPUT_LABEL_LIMIT, f"{where}/hint", plain=True, required=False)
    _elements([block.get("element")], f"{where}/element", problems, _INPUTS)


def _divider(block: Json, where: str, problems: Problems) -> None:
    """It has nothing."""


def _elements(found: Any, where: str, problems: Problems, known: dict[str, Check]) -> None:
    ids: set[str] = set()
    for number, element in enumerate(found if isinstance(found, list) else []):
        at = f"{where}/{number}"
        kind = element.get("type") if isinstance(element, dict) else None
        check = known.get(str(kind))
        if check is None:
            problems.add(f"unsupported type: {kind}", f"{at}/type")
            continue
        action_id = element.get("action_id")
        problems.length(action_id, ID_LIMIT, f"{at}/action_id")
        if action_id in ids:
            problems.add(f"`action_id` {action_id!r} already exists for another element", f"{at}/action_id")
        ids.add(action_id)
        check(element, at, problems)
        _confirm(element.get("confirm"), f"{at}/confirm", problems)


def _confirm(confirm: Json | None, where: str, problems: Problems) -> None:
    if confirm is None:
        return
    problems.text(confirm.get("title"), 100, f"{where}/title", plain=True)
    problems.text(confirm.get("text"), 300, f"{where}/text")
    for name in ("confirm", "deny"):
        problems.text(confirm.get(name), 30, f"{where}/{name}", plain=True)


def _button(element: Json, where: str, problems: Problems) -> None:
    problems.text(element.get("text"), LABEL_LIMIT, f"{where}/text", plain=True)
    problems.length(element.get("value"), VALUE_LIMIT, f"{where}/value", least=0)
    problems.length(element.get("url"), URL_LIMIT, f"{where}/url")
    problems.length(element.get("accessibility_label"), LABEL_LIMIT, f"{where}/accessibility_label")
    if element.get("style", "primary") not in ("primary", "danger"):
        problems.add(f"invalid value: {element['style']}", f"{where}/style")


def _select(element: Json, where: str, problems: Problems) -> None:
    problems.text(element.get("placeholder"), PLACEHOLDER_LIMIT, f"{where}/placeholder", plain=True, required=False)
    _options(element, where, problems)
    initial = element.get("initial_option")
    if initial is not None and initial not in element.get("options", []):
        problems.add("must be one of the options", f"{where}/initial_option")


def _options(element: Json, where: str, problems: Problems) -> None:
    options = element.get("options")
    problems.length(options, OPTIONS[element["type"]], f"{where}/options", required=True)
    for number, option in enumerate(options or []):
        at = f"{where}/options/{number}"
        problems.text(option.get("text"), LABEL_LIMIT, f"{at}/text", plain=True)
        problems.length(option.get("value"), OPTION_LIMIT, f"{at}/value", required=True)
        problems.text(option.get("description"), LABEL_LIMIT, f"{at}/description", plain=True, required=False)


def _plain_text_input(element: Json, where: str, problems: Problems) -> None:
    problems.text(element.get("placeholder"), PLACEHOLDER_LIMIT, f"{where}/placeholder", plain=True, required=False)
    problems.length(element.get("initial_value"), INPUT_LIMIT, f"{where}/initial_value", least=0)
    least, most = element.get("min_length", 0), element.get("max_length", INPUT_LIMIT)
    if not 0 <= least <= most <= INPUT_LIMIT or most < 1:
        problems.add(f"must be within 0 and {INPUT_LIMIT}", f"{where}/max_length")


Check = Callable[[Json, str, Problems], None]

_BLOCKS: dict[str, Check] = {
    "actions": _actions,
    "context": _context,
    "divider": _divider,
    "header": _header,
    "input": _input,
    "markdown": _markdown,
    "section": _section,
}
_ELEMENTS: dict[str, Check] = {"button": _button, "overflow": _options, "static_select": _select}
_INPUTS: dict[str, Check] = {"plain_text_input": _plain_text_input, "static_select": _select}
