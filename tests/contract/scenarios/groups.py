"""Several people at one place, and places that must not touch each other."""

from __future__ import annotations

import asyncio
import re

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, scenario
from contract.scenarios.phrases import chats, nothing_was_said, remembered, step, steps, talk

_NO_SUCH_STEP = re.compile("no such step", re.IGNORECASE)


@scenario(Feature.GROUPS)
async def everybody_in_a_group_talks_into_one_chat(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    bob = await team.as_("Bob")
    await talk(team, "one")
    await talk(bob, "two")
    for person in (team, bob):
        await person.command("/replay list")
        shown = await person.seen("Turn 2: two")
        assert "Turn 1: one" in shown.text


@scenario(Feature.GROUPS)
async def talk_among_people_is_not_for_the_agent(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    await team.remark("shall we have lunch?")
    await nothing_was_said(team)


@scenario(Feature.GROUPS)
async def who_started_a_chat_may_go_back_and_others_are_told_who_may(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    bob = await team.as_("Bob")
    await talk(team, "one")
    await talk(bob, "two")
    first = await step(bob, 1)
    for command in (f"/replay {first}", "/undo", "/redo", "/reset", "/replay clear", "/delete"):
        await bob.command(command)
        await bob.seen("who started this chat and its admins")
    await team.command(f"/replay {first}")
    await team.seen(re.compile(r"Back at turn 1.*\(by Ann\)"))


@scenario(Feature.GROUPS)
async def admin_of_the_group_may_go_back_and_is_named(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    await talk(team, "one", "two")
    cleo = await team.as_("Cleo")
    await cleo.command("/undo")
    await cleo.seen(re.compile(r"Took 1 turn back.*\(by Cleo\)"))


@scenario(Feature.GROUPS, access__group_policy="starter")
async def only_the_starter_may_where_that_is_set(ann: Driver) -> None:
    team = await ann.group("Team", admin="Cleo")
    await talk(team, "one", "two")
    cleo = await team.as_("Cleo")
    await cleo.command("/undo")
    await cleo.seen("who started this chat")
    await team.command("/undo")
    await team.seen("Took 1 turn back")


@scenario(Feature.GROUPS, access__group_policy="anyone")
async def anybody_who_takes_part_may_where_that_is_set(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    await talk(team, "one")
    bob = await team.as_("Bob")
    await talk(bob, "two")
    await bob.command("/undo")
    await bob.seen(re.compile(r"Took 1 turn back.*\(by Bob\)"))


@scenario(Feature.GROUPS)
async def who_takes_part_may_look_compare_and_fork(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    await talk(team, "one", "two")
    bob = await team.as_("Bob")
    first = await step(bob, 1)
    for command, outcome in (
        (f"/replay show {first}", "Asked: one"),
        (f"/replay compare {first}", "and now:"),
        (f"/fork {first}", "Forked turn 1, step 1 into a new chat of your own"),
    ):
        await bob.command(command)
        await bob.seen(outcome)


@scenario(Feature.GROUPS)
async def fork_in_a_group_is_its_makers_own(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    await talk(team, "one")
    bob = await team.as_("Bob")
    await bob.command("/fork")
    assert "Continue here" not in (await bob.seen("Forked turn 1")).buttons
    private = await ann.as_("Bob")
    await private.command("/chats")
    fork = re.findall(r"([0-9a-f]{8}) · ⑂ one", (await private.seen("Your chats")).text)[0]
    await private.command(f"/switch {fork}")
    await private.seen("Now talking into “⑂ one”")
    assert await remembered(private) == ["one"]
    await ann.command("/chats")
    assert "⑂" not in (await ann.seen("Your chats")).text


@scenario(Feature.GROUPS, Feature.OLD_BUTTONS)
async def button_is_refused_to_who_may_not_use_it(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    bob = await team.as_("Bob")
    await talk(team, "one")
    await talk(bob, "two")
    await team.command("/undo")
    back = await team.seen("Took 1 turn back")
    await bob.press("Bring back", back)
    await bob.seen("who started this chat and its admins")
    await team.press("Bring back", back)
    await team.seen(re.compile(r"Brought back.*\(by Ann\)"))


@scenario(Feature.GROUPS)
async def question_is_answered_by_who_was_asked(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    await talk(team, "one")
    await team.command("/replay clear")
    question = await team.seen("Delete the 1 step")
    cleo = await team.as_("Cleo")
    await cleo.press("Delete 1 step", question)
    await cleo.seen("Only Ann may answer that.")
    await team.press("Delete 1 step", question)
    await team.seen("Deleted 1 step (by Ann).")


@scenario(Feature.GROUPS)
async def approval_is_given_by_the_owner(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    bob = await team.as_("Bob")
    await talk(bob, "one")
    await bob.say("shell echo hi")
    card = await bob.seen("run_command")
    await team.press("Approve", card)
    await team.seen("the owner of this chat")
    assert "Approve" in card.buttons
    await bob.press("Approve", card)
    await bob.seen(re.compile("^hi"))
    await bob.rest()
    assert card.text.startswith("Approved by Bob")


@scenario(Feature.GROUPS, access__approvers="admins")
async def approval_is_given_by_the_groups_admins_where_that_is_set(ann: Driver) -> None:
    team = await ann.group("Team", "Bob", admin="Cleo")
    await team.say("shell echo hi")
    card = await team.seen("run_command")
    bob, cleo = await team.as_("Bob"), await team.as_("Cleo")
    await bob.press("Approve", card)
    await bob.seen("the admins of this chat")
    await cleo.press("Approve", card)
    await cleo.seen(re.compile("^hi"))


@scenario(Feature.GROUPS, Feature.LEAVING)
async def who_leaves_a_group_reads_its_chat_no_more_until_they_speak_there_again(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    bob, home = await team.as_("Bob"), await ann.as_("Bob")
    await talk(team, "ours")
    await talk(bob, "two")
    ours = re.findall(r"([0-9a-f]{8}) · ours", await chats(home))[0]
    await bob.leave()
    async with asyncio.timeout(WAIT_SECONDS):
        while "ours" in await chats(home):
            pass
    await home.command(f"/switch {ours}")
    await home.seen("You have no such chat")
    await bob.join()
    await talk(bob, "three")
    assert "ours" in await chats(home)


@scenario(Feature.GROUPS)
async def group_and_direct_chat_do_not_touch_each_other(ann: Driver) -> None:
    team = await ann.group("Team")
    await talk(ann, "mine one", "mine two")
    await talk(team, "ours one", "ours two")
    mine = await step(ann, 1)
    await team.command(f"/replay {mine}")
    await team.seen(_NO_SUCH_STEP)
    await team.command("/undo")
    await team.seen("Took 1 turn back")
    assert await remembered(ann) == ["mine one", "mine two"]
    assert await remembered(team) == ["ours one"]


@scenario(Feature.GROUPS)
async def groups_do_not_touch_each_other(ann: Driver) -> None:
    one, other = await ann.group("One"), await ann.group("Other")
    await talk(one, "a", "b")
    await talk(other, "c", "d")
    await one.command("/replay clear")
    await one.press("Delete 2 steps", await one.seen("Delete the 2 steps"))
    await one.seen("Deleted 2 steps")
    assert len(await steps(other)) == 2
    assert await remembered(other) == ["c", "d"]


@scenario(Feature.GROUPS, Feature.SIDE_PLACES)
async def places_beside_each_other_do_not_touch_each_other(ann: Driver) -> None:
    team = await ann.group("Team", topics=True)
    billing, ops = await team.topic("billing"), await team.topic("ops")
    await talk(billing, "b one", "b two")
    await talk(ops, "o one", "o two")
    foreign = await step(ops, 1)
    await billing.command(f"/replay {foreign}")
    await billing.seen(_NO_SUCH_STEP)
    await billing.command("/undo")
    await billing.seen("Took 1 turn back")
    assert await remembered(ops) == ["o one", "o two"]
    assert await remembered(billing) == ["b one"]


@scenario(Feature.GROUPS)
async def other_places_of_a_chat_are_told_when_it_moves(ann: Driver) -> None:
    team = await ann.group("Team")
    await talk(team, "one", "two")
    await ann.command("/chats")
    ours = re.findall(r"([0-9a-f]{8}) · one", (await ann.seen("Your chats")).text)[0]
    await ann.command(f"/switch {ours}")
    await ann.seen("Now talking into “one”")
    await team.remark("watch this")
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await team.seen(re.compile("^Ann went back to turn 1"))
