"""The commands that Discord offers while people type, made from the catalogue, and the entries of a message's menu.

Discord lets a command with subcommands not be sent alone, so there is no bare `/replay`: `/replay list` shows more.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import discord
from discord import app_commands
from discord.app_commands import AppCommandContext, AppInstallationType, Choice, Command, ContextMenu, Group

from turnback.bots.commands import CATALOGUE, Usage
from turnback.bots.words import printable

Interaction = discord.Interaction[Any]

DESCRIPTION, CHOICES, CHOICE = 100, 25, 100

_STEPS = frozenset({"step", "a", "b"})
_NUMBERS = frozenset({"page", "n"})
_DOES = {
    "replay": "look back, go back, compare, name and clear the saved steps",
    "memory": "what is remembered here",
}
_TOKEN = re.compile(r"\[[^\]]*\]|\S+")
_CONTEXTS = AppCommandContext(guild=True, dm_channel=True)
_INSTALLED = AppInstallationType(guild=True, user=False)

REWIND, FORK = "Rewind to here", "Fork from here"

_MENUS = ((REWIND, "/replay restore", "replay"), (FORK, "/fork", "fork"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is done about a command: `command` is told its words, and the message that it is about; `offer` which
    steps fit what is typed so far.
    """

    command: Callable[[Interaction, str, str | None], Awaitable[None]]
    offer: Callable[[Interaction, str], Awaitable[Sequence[Choice[str]]]]


@dataclass(frozen=True, slots=True)
class _Option:
    """An option as the catalogue writes it. `flag`: a word that is there or not."""

    name: str
    required: bool
    flag: bool = False

    @property
    def type(self) -> Any:
        if self.flag:
            return bool
        return app_commands.Range[int, 1, 1_000_000] if self.name in _NUMBERS else str


def commands(asked: Asked, words: Collection[str] | None = None) -> Iterator[Command[Any, ..., Any] | Group]:
    """A command for each first word of the catalogue; of `words` only, where they are given."""
    by_word: dict[str, list[Usage]] = {}
    for usage in CATALOGUE:
        if words is None or usage.word in words:
            by_word.setdefault(usage.word, []).append(usage)
    for word, usages in by_word.items():
        if any(usage.sub for usage in usages):
            yield _group(word, [usage for usage in usages if usage.sub], asked)
        else:
            yield _command(usages[0], asked)


def menus(asked: Asked, words: Collection[str] | None = None) -> Iterator[ContextMenu]:
    """The entries of a message's menu."""
    for name, text, word in _MENUS:
        if words is None or word in words:
            yield _menu(name, text, asked)


def _group(word: str, usages: Sequence[Usage], asked: Asked) -> Group:
    group = Group(
        name=word,
        description=_described(_DOES.get(word, word)),
        allowed_contexts=_CONTEXTS,
        allowed_installs=_INSTALLED,
    )
    for usage in usages:
        group.add_command(_command(usage, asked, within=True))
    return group


def _command(usage: Usage, asked: Asked, *, within: bool = False) -> Command[Any, ..., Any]:
    options = list(_options(usage))
    words = f"/{usage.word} {usage.sub}" if usage.sub else f"/{usage.word}"

    async def callback(interaction: Interaction, **values: Any) -> None:
        given = [words, *(_typed(option, values.get(option.name)) for option in options)]
        await asked.command(interaction, " ".join(word for word in given if word), None)

    setattr(callback, "__signature__", _signature(options))  # noqa: B010 - the library makes its options of it
    app_commands.describe(**{option.name: _about(option) for option in options})(callback)
    if steps := [option.name for option in options if option.name in _STEPS]:
        completions: dict[str, Any] = dict.fromkeys(steps, _completing(asked))
        app_commands.autocomplete(**completions)(callback)
    about: dict[str, Any] = {} if within else {"allowed_contexts": _CONTEXTS, "allowed_installs": _INSTALLED}
    made: Command[Any, ..., Any] = Command(
        name=usage.sub or usage.word, description=_described(usage.does), callback=callback, **about
    )
    return made


def _menu(name: str, text: str, asked: Asked) -> ContextMenu:
    async def callback(interaction: Interaction, message: discord.Message) -> None:
        await asked.command(interaction, text, str(message.id))

    return ContextMenu(name=name, callback=callback, allowed_contexts=_CONTEXTS, allowed_installs=_INSTALLED)


def _completing(asked: Asked) -> Callable[[Interaction, str], Awaitable[list[Choice[str]]]]:
    async def complete(interaction: Interaction, current: str) -> list[Choice[str]]:
        return list(await asked.offer(interaction, current))

    return complete


def _options(usage: Usage) -> Iterator[_Option]:
    """`STEP`, `[PAGE]`, `[KEY VALUE]`, `[here]`."""
    for token in _TOKEN.findall(usage.usage)[2 if usage.sub else 1 :]:
        required = not token.startswith("[")
        for word in token.strip("[]").split():
            yield _Option(word.lower(), required, flag=word.islower())


def _signature(options: Sequence[_Option]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter("interaction", kind, annotation=discord.Interaction)
    rest = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=option.type,
            default=inspect.Parameter.empty if option.required else None,
        )
        for option in options
    ]
    return inspect.Signature([first, *rest])


def _typed(option: _Option, value: Any) -> str:
    """A value as it would be typed."""
    if option.flag:
        return option.name if value else ""
    return "" if value is None else str(value)


def _about(option: _Option) -> str:
    if option.flag:
        return f"also go on with it {option.name}"
    if option.name in _STEPS:
        return "a step: choose one, or give the beginning of its id, or @label"
    return {"label": "one word; - takes it off", "n": "how many turns"}.get(option.name, option.name)


def _described(does: str) -> str:
    return printable(does, DESCRIPTION)
