"""The manifest is the only place where Slack learns of commands: it must declare just those that there are."""

from __future__ import annotations

from platforms.slack.manifest import manifest_problems, read_manifest
from support.slack_bot import manifest

from turnback.bots.commands import CATALOGUE
from turnback.bots.slack.adapter import COMMANDS
from turnback.bots.slack.listeners import ASSISTANT, EVENTS
from turnback.bots.slack.reading import LEFT, SHORTCUTS


def test_slack_takes_the_manifest() -> None:
    assert manifest_problems(manifest()) == []


def test_commands_are_those_that_exist() -> None:
    declared = [each["command"] for each in manifest()["features"]["slash_commands"]]
    assert declared == [f"/{word}" for word in COMMANDS]
    assert set(COMMANDS) == {usage.word for usage in CATALOGUE}


def test_hints_name_every_form_of_a_command() -> None:
    hints = {each["command"]: each.get("usage_hint", "") for each in manifest()["features"]["slash_commands"]}
    for usage in CATALOGUE:
        rest = usage.usage.removeprefix(f"/{usage.word}").strip()
        assert rest in hints[f"/{usage.word}"]


def test_shortcuts_are_those_that_exist() -> None:
    assert read_manifest(manifest()).shortcuts == dict.fromkeys(SHORTCUTS, "message")
    names = [each["name"] for each in manifest()["features"]["shortcuts"]]
    assert names == ["Rewind to here", "Fork from here"]


def test_events_are_those_that_are_listened_to() -> None:
    kinds = {event.partition(".")[0] for event in read_manifest(manifest()).events}
    assert kinds == {*EVENTS, *LEFT, ASSISTANT}
