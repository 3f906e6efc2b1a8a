"""What buttons, selects and modals may be.

https://docs.discord.com/developers/components/reference
"""

from __future__ import annotations

from collections.abc import Iterator

from platforms.core import Json
from platforms.discord.refusals import Path, Problems

ROW, BUTTON, SELECT, TEXT_INPUT, LABEL = 1, 2, 3, 4, 18
SELECTS = (3, 5, 6, 7, 8)
LINK = 5

ROWS_LIMIT = 5
ROW_LIMIT = 5
CUSTOM_ID_LIMIT = 100
BUTTON_LABEL_LIMIT = 80
OPTIONS_LIMIT = 25
MODAL_TITLE_LIMIT = 45
INPUT_LABEL_LIMIT = 45
INPUT_LIMIT = 4000


def walk(components: list[Json], path: Path = ()) -> Iterator[tuple[Json, Path]]:
    """Every component with its path."""
    for i, component in enumerate(components):
        yield component, (*path, i)
        yield from walk(component.get("components") or [], (*path, i, "components"))
        if component.get("component"):
            yield component["component"], (*path, i, "component")


def check_components(components: list[Json], problems: Problems) -> None:
    """Of a message: rows of buttons, or of one select."""
    problems.length(("components",), components, 0, ROWS_LIMIT)
    seen: set[str] = set()
    for i, row in enumerate(components):
        path: Path = ("components", i)
        problems.choice((*path, "type"), row.get("type"), (ROW,))
        kids = row.get("components") or []
        wide = len(kids) > 1 and any(kid.get("type") in SELECTS for kid in kids)
        if wide:
            problems.add(path, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
        else:
            problems.length((*path, "components"), kids, 1, ROW_LIMIT)
        for j, kid in enumerate(kids):
            where = (*path, "components", j)
            _check_component(kid, where, problems)
            _check_unique(kid, where, seen, problems)


def check_modal(data: Json) -> None:
    """Of a modal: text inputs, each in a row or under a label."""
    problems = Problems()
    problems.length(("data", "custom_id"), data.get("custom_id"), 1, CUSTOM_ID_LIMIT)
    problems.length(("data", "title"), data.get("title"), 1, MODAL_TITLE_LIMIT)
    rows, seen = data.get("components") or [], set[str]()
    problems.length(("data", "components"), rows, 1, ROWS_LIMIT)
    for component, path in walk(rows, ("data", "components")):
        _check_unique(component, path, seen, problems)
        match component.get("type"):
            case 4:
                _check_input(component, path, problems, labelled="component" in path)
            case 18:
                problems.length((*path, "label"), component.get("label"), 1, INPUT_LABEL_LIMIT)
                problems.length((*path, "description"), component.get("description"), 0, 100)
            case 3:
                _check_select(component, path, problems)
            case kind:
                problems.choice((*path, "type"), kind, (ROW, LABEL))
    problems.refuse()


def _check_component(component: Json, path: Path, problems: Problems) -> None:
    if component.get("type") == BUTTON:
        _check_button(component, path, problems)
    elif component.get("type") in SELECTS:
        _check_select(component, path, problems)
    else:
        problems.choice((*path, "type"), component.get("type"), (BUTTON, *SELECTS))


def _check_unique(component: Json, path: Path, seen: set[str], problems: Problems) -> None:
    custom_id = component.get("custom_id")
    if custom_id in seen:
        text = "Component custom id cannot be duplicated"
        problems.add((*path, "custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", text)
    if custom_id:
        seen.add(custom_id)


def _check_button(button: Json, path: Path, problems: Problems) -> None:
    problems.choice((*path, "style"), button.get("style"), (1, 2, 3, 4, LINK))
    problems.length((*path, "label"), button.get("label"), 0, BUTTON_LABEL_LIMIT)
    if button.get("style") == LINK:
        problems.length((*path, "url"), button.get("url"), 1, 512)
        if button.get("url") and not str(button["url"]).startswith(("http://", "https://", "discord://")):
            text = "Scheme must be one of ('discord', 'http', 'https')."
            problems.add((*path, "url"), "URL_TYPE_INVALID_SCHEME", text)
        if button.get("custom_id"):
            text = "A custom id and url cannot both be specified"
            problems.add(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", text)
    else:
        problems.length((*path, "custom_id"), button.get("custom_id"), 1, CUSTOM_ID_LIMIT)
    if not button.get("label") and not button.get("emoji"):
        text = "A button must have a label or emoji"
        problems.add(path, "BUTTON_COMPONENT_INVALID_LABEL_EMOJI", text)


def _check_select(select: Json, path: Path, problems: Problems) -> None:
    problems.length((*path, "custom_id"), select.get("custom_id"), 1, CUSTOM_ID_LIMIT)
    problems.length((*path, "placeholder"), select.get("placeholder"), 0, 150)
    low, high = select.get("min_values", 1), select.get("max_values", 1)
    if not 0 <= low <= high <= OPTIONS_LIMIT or high < 1:
        problems.add((*path, "max_values"), "NUMBER_TYPE_MAX", "min_values and max_values do not fit together")
    if select.get("type") != SELECT:
        return
    options = select.get("options") or []
    problems.length((*path, "options"), options, 1, OPTIONS_LIMIT)
    if len({option.get("value") for option in options}) < len(options):
        text = "The specified option value is already used"
        problems.add((*path, "options"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", text)
    for i, option in enumerate(options):
        for key, low in (("label", 1), ("value", 1), ("description", 0)):
            problems.length((*path, "options", i, key), option.get(key), low, 100)


def _check_input(field: Json, path: Path, problems: Problems, *, labelled: bool) -> None:
    problems.length((*path, "custom_id"), field.get("custom_id"), 1, CUSTOM_ID_LIMIT)
    if not labelled:
        problems.length((*path, "label"), field.get("label"), 1, INPUT_LABEL_LIMIT)
    problems.length((*path, "placeholder"), field.get("placeholder"), 0, 100)
    problems.length((*path, "value"), field.get("value"), 0, INPUT_LIMIT)
    problems.choice((*path, "style"), field.get("style"), (1, 2))
    low, high = field.get("min_length") or 0, field.get("max_length") or INPUT_LIMIT
    if not 0 <= low <= high <= INPUT_LIMIT:
        text = f"int value should be less than or equal to {INPUT_LIMIT}."
        problems.add((*path, "max_length"), "NUMBER_TYPE_MAX", text)
