"""What an application command may be.

https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

import unicodedata

from platforms.core import Json
from platforms.discord.refusals import Path, Problems, wrong

CHAT_INPUT, USER, MESSAGE = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2
STRING, INTEGER, BOOLEAN, NUMBER = 3, 4, 5, 10
CHOOSING = (STRING, INTEGER, NUMBER)
"""Kinds of options that may have choices or autocomplete."""

NAME_LIMIT = 32
DESCRIPTION_LIMIT = 100
OPTIONS_LIMIT = 25
CHOICES_LIMIT = 25
SIZE_LIMIT = 8000
COUNTS = {CHAT_INPUT: 100, USER: 15, MESSAGE: 15}
"""How many of a kind in one scope."""


def check_commands(commands: list[Json]) -> None:
    """A whole list of them."""
    problems, seen = Problems(), set[tuple[int, str]]()
    for i, command in enumerate(commands):
        _check_command(command, (i,), problems)
        key = (command.get("type") or CHAT_INPUT, str(command.get("name")))
        if key in seen:
            text = "Application command names must be unique"
            problems.add((i,), "APPLICATION_COMMANDS_DUPLICATE_NAME", text)
        seen.add(key)
    problems.refuse()
    check_counts(commands)


def check_command(command: Json) -> None:
    problems = Problems()
    _check_command(command, (), problems)
    problems.refuse()


def check_counts(commands: list[Json]) -> None:
    for kind, limit in COUNTS.items():
        if sum((command.get("type") or CHAT_INPUT) == kind for command in commands) > limit:
            raise wrong(30032, f"Maximum number of application commands reached ({limit}).")


def check_choices(choices: list[Json], path: Path, problems: Problems) -> None:
    """Fixed ones of an option, or those that autocomplete answers."""
    problems.length(path, choices, 0, CHOICES_LIMIT)
    for i, choice in enumerate(choices):
        problems.length((*path, i, "name"), choice.get("name"), 1, 100)
        if isinstance(choice.get("value"), str):
            problems.length((*path, i, "value"), choice["value"], 1, 100)


def size(command: Json) -> int:
    """The characters of all names, descriptions and values together."""
    total = 0
    for key in ("name", "description"):
        translated = (command.get(f"{key}_localizations") or {}).values()
        total += max(len(text or "") for text in (command.get(key), *translated))
    total += sum(len(str(choice["name"])) + len(str(choice["value"])) for choice in command.get("choices") or [])
    return total + sum(size(option) for option in command.get("options") or [])


def _check_command(command: Json, path: Path, problems: Problems) -> None:
    if (command.get("type") or CHAT_INPUT) == CHAT_INPUT:
        _check_name(command, path, problems)
        problems.length((*path, "description"), command.get("description"), 1, DESCRIPTION_LIMIT)
        _check_options(command.get("options") or [], (*path, "options"), problems, depth=0)
    else:
        problems.length((*path, "name"), command.get("name"), 1, NAME_LIMIT)
        if command.get("description") or command.get("options"):
            text = "Context menu commands cannot have description"
            problems.add(path, "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION_INVALID", text)
    if size(command) > SIZE_LIMIT:
        text = f"Command exceeds maximum size ({SIZE_LIMIT})"
        problems.add(path, "APPLICATION_COMMAND_TOO_LARGE", text)


def _check_name(named: Json, path: Path, problems: Problems) -> None:
    name = str(named.get("name") or "")
    if not 1 <= len(name) <= NAME_LIMIT or name != name.lower() or not all(_fits_name(char) for char in name):
        problems.add((*path, "name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _fits_name(char: str) -> bool:
    """`[-_'\\p{L}\\p{N}\\p{sc=Deva}\\p{sc=Thai}]`"""
    letter = unicodedata.category(char)[0] in "LN"
    return letter or char in "-_'" or 0x900 <= ord(char) <= 0x97F or 0xE00 <= ord(char) <= 0xE7F


def _check_options(options: list[Json], path: Path, problems: Problems, *, depth: int) -> None:
    problems.length(path, options, 0, OPTIONS_LIMIT)
    if len({option.get("type") in (SUBCOMMAND, GROUP) for option in options}) > 1:
        text = "Sub-command and sub-command group option types are mutually exclusive to all other types"
        problems.add(path, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", text)
    names = [option.get("name") for option in options]
    if len(set(names)) < len(names):
        problems.add(path, "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option name already exists")
    optional = False
    for i, option in enumerate(options):
        if option.get("required") and optional:
            text = "Required options must be placed before non-required options"
            problems.add((*path, i), "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", text)
        optional = optional or not option.get("required")
        _check_option(option, (*path, i), problems, depth=depth)


def _check_option(option: Json, path: Path, problems: Problems, *, depth: int) -> None:
    kind = option.get("type")
    _check_name(option, path, problems)
    problems.length((*path, "description"), option.get("description"), 1, DESCRIPTION_LIMIT)
    problems.choice((*path, "type"), kind, tuple(range(1, 12)))
    if kind in (SUBCOMMAND, GROUP):
        if depth > 1 or (kind == GROUP and depth):
            text = "Sub-command nesting is too deep"
            problems.add(path, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", text)
        _check_options(option.get("options") or [], (*path, "options"), problems, depth=depth + 1)
        return
    choices = option.get("choices") or []
    if choices and option.get("autocomplete"):
        text = "Autocomplete options cannot have choices"
        problems.add((*path, "choices"), "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES", text)
    if (choices or option.get("autocomplete")) and kind not in CHOOSING:
        text = "Only strings, integers and numbers have choices"
        problems.add((*path, "choices"), "APPLICATION_COMMAND_OPTIONS_CHOICES_INVALID", text)
    check_choices(choices, (*path, "choices"), problems)
