"""The commands that Discord offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import discord
import pytest
from discord import app_commands

from turnback.bots.commands import CATALOGUE, NotACommand, Unknown
from turnback.bots.discord.menu import Asked, commands, menus
from turnback.bots.grammar import parse


async def nothing(*_: object) -> Any:
    return ()


@pytest.fixture
async def tree() -> Any:
    async with discord.Client(intents=discord.Intents.none()) as client:
        tree: app_commands.CommandTree[Any] = app_commands.CommandTree(client)
        for command in (
            *commands(Asked(command=nothing, offer=nothing)),
            *menus(Asked(command=nothing, offer=nothing)),
        ):
            tree.add_command(command)
        yield tree


def leaves(tree: app_commands.CommandTree[Any]) -> Iterator[app_commands.Command[Any, ..., Any]]:
    for command in tree.walk_commands():
        if isinstance(command, app_commands.Command):
            yield command


def test_every_usage_of_the_catalogue_but_the_bare_replay_can_be_picked(tree: app_commands.CommandTree[Any]) -> None:
    picked = {f"/{command.qualified_name}" for command in leaves(tree)}
    usages = {f"/{usage.word} {usage.sub}" if usage.sub else f"/{usage.word}" for usage in CATALOGUE}
    assert picked == usages - {"/replay"}


@pytest.mark.parametrize("name", ["replay restore", "replay show", "replay name", "fork"])
def test_step_comes_first_and_is_completed(tree: app_commands.CommandTree[Any], name: str) -> None:
    command = next(command for command in leaves(tree) if command.qualified_name == name)
    first = command.parameters[0]
    assert first.name == "step"
    assert first.autocomplete


def test_required_are_just_those_that_the_catalogue_requires(tree: app_commands.CommandTree[Any]) -> None:
    required = {c.qualified_name: [p.name for p in c.parameters if p.required] for c in leaves(tree)}
    assert required["replay compare"] == ["a"]
    assert required["replay name"] == ["step", "label"]
    assert required["fork"] == required["undo"] == required["retention"] == []
    assert required["switch"] == ["chat"]


async def test_what_is_picked_is_what_would_be_typed(tree: app_commands.CommandTree[Any]) -> None:
    heard: list[str] = []

    async def hear(_: object, text: str, __: object) -> None:
        heard.append(text)

    made = {c.name: c for c in commands(Asked(command=hear, offer=nothing))}
    fork = made["fork"]
    assert isinstance(fork, app_commands.Command)
    await fork.callback(None, step="3fa9c1d2", here=True)  # type: ignore[call-arg, arg-type]
    await fork.callback(None)  # type: ignore[call-arg, arg-type]
    assert heard == ["/fork 3fa9c1d2 here", "/fork"]
    assert not any(isinstance(parse(text), NotACommand | Unknown) for text in heard)


def test_all_is_for_servers_and_direct_chats_and_for_nobody_elses_chats(tree: app_commands.CommandTree[Any]) -> None:
    for command in tree.get_commands():
        body = command.to_dict(tree)
        assert (body["contexts"], body["integration_types"]) == ([0, 1], [0])


def test_menus_of_messages_are_named_as_people_know_them(tree: app_commands.CommandTree[Any]) -> None:
    kind = discord.AppCommandType.message
    assert [menu.name for menu in tree.get_commands(type=kind)] == ["Rewind to here", "Fork from here"]
