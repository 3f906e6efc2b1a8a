"""Words as people type them: phones, names, slips, and what is no command at all."""

from __future__ import annotations

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import nothing_was_said, remembered, steps, talk


@scenario()
async def commands_are_read_as_people_type_them(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first, second = await steps(ann)
    for typed, outcome in (
        ("/replay\N{NO-BREAK SPACE}list", "Steps of this chat"),
        ("/replay\N{NARROW NO-BREAK SPACE}list", "Steps of this chat"),
        ("/Replay LIST", "Steps of this chat"),
        ("/replay  list.", "Steps of this chat"),
        ("/replay —help", "What you can ask here"),
        (f"/replay show “{first}”", "Asked: one"),
        (f"/replay show `{first}`", "Asked: one"),
        (f"/replay show <{first.upper()}>", "Asked: one"),
        (f"/replay show {first}\N{ZERO WIDTH SPACE}", "Asked: one"),
        (f"/replay compare {first} —— {second}", "in common"),
        (f"/replay «{first}».", "Back at turn 1"),
    ):
        await ann.command(typed)
        await ann.seen(outcome)


@scenario()
async def unknown_word_is_answered_with_the_nearest_command(ann: Driver) -> None:
    await talk(ann, "one")
    for typed, near in (("/replya list", "/replay"), ("/replay lsit", "/replay list"), ("/undoo", "/undo")):
        await ann.command(typed)
        shown = await ann.seen("is not something I know.")
        assert f"Did you mean {near}?" in shown.text
        assert "Usage: " in shown.text
        assert "\n" not in shown.text
    assert await remembered(ann) == ["one"]


@scenario()
async def command_with_words_that_do_not_fit_says_how_it_is_used(ann: Driver) -> None:
    await talk(ann, "one")
    for typed in ("/undo many", "/replay restore xyz!", "/switch", "/replay name"):
        await ann.command(typed)
        await ann.seen("Usage: ")
    assert len(await steps(ann)) == 1


@scenario()
async def words_for_the_agent_stay_as_they_are(ann: Driver) -> None:
    await ann.say("“quoted” – replay list, 3fa9c1d2")
    await ann.seen("You said: “quoted” – replay list, 3fa9c1d2")


@scenario()
async def exclamation_is_talk_where_slashes_can_be_typed(ann: Driver) -> None:
    await ann.say("!nice work")
    await ann.seen("You said: !nice work")


@scenario(Feature.NAMES)
async def command_with_our_name_is_obeyed_in_any_letters(ann: Driver) -> None:
    await talk(ann, "one")
    for name in (ann.bot_name, ann.bot_name.upper(), ann.bot_name.title()):
        await ann.command(f"/replay@{name} list")
        await ann.seen("Steps of this chat")


@scenario(Feature.NAMES, Feature.GROUPS)
async def command_for_another_bot_is_left_to_it(ann: Driver) -> None:
    team = await ann.group("Team")
    await talk(team, "one")
    await team.command("/replay@other_bot clear")
    await nothing_was_said(team)
    await team.command("/weather today")
    await nothing_was_said(team)
    assert len(await steps(team)) == 1


@scenario(Feature.GROUPS)
async def command_after_a_mention_is_a_command(ann: Driver) -> None:
    team = await ann.group("Team")
    await talk(team, "one")
    await team.say("replay list")
    await team.seen("Steps of this chat")
