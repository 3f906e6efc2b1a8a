"""Branch off: forks, their way here and back, names of steps, other chats."""

from __future__ import annotations

import re

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import remembered, step, steps, talk


@scenario()
async def fork_goes_on_here_and_leads_back_to_its_origin(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/fork {await step(ann, 1)}")
    await ann.press("Continue here", await ann.seen("Forked turn 1, step 1 into a new chat of your own"))
    there = await ann.seen(lambda shown: "Back to origin" in shown.buttons)
    await talk(ann, "only there")
    assert await remembered(ann) == ["one", "only there"]
    await ann.command("/chats")
    origin = re.findall(r"([0-9a-f]{8}) · one", (await ann.seen("Your chats")).text)[-1]
    await ann.command(f"/switch {origin}")
    assert await remembered(ann) == ["one", "two"]
    assert there.buttons


@scenario(Feature.OLD_BUTTONS)
async def back_to_origin_is_a_press_away(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/fork")
    await ann.press("Continue here", await ann.seen("Forked turn 1, step 1"))
    there = await ann.seen("Now talking into “⑂ one”")
    await talk(ann, "only there")
    await ann.press("Back to origin", there)
    await ann.seen("Now talking into “one”")
    assert await remembered(ann) == ["one"]


@scenario()
async def fork_leaves_the_original_as_it_is(ann: Driver) -> None:
    await talk(ann, "one", "two")
    before = await steps(ann)
    await ann.command("/fork")
    shown = await ann.seen("Forked turn 2, step 1")
    assert shown.links
    assert await steps(ann) == before
    await ann.command("/chats")
    await ann.seen("⑂ one")


@scenario()
async def fork_made_twice_at_once_is_one_fork(ann: Driver) -> None:
    await talk(ann, "one")
    for answer in ("Forked turn 1", "was made just now already"):
        await ann.command("/fork")
        await ann.seen(answer)
    await ann.command("/chats")
    assert (await ann.seen("Your chats")).text.count("⑂ one") == 1


@scenario(Feature.SINGLE)
async def fork_here_where_there_is_no_place_beside_says_so(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/fork here")
    await ann.seen("This place cannot hold a second chat beside this one")


@scenario(Feature.GROUPS, Feature.SIDE_PLACES)
async def fork_here_goes_on_in_a_place_beside(ann: Driver) -> None:
    team = await ann.group("Team", topics=True)
    await talk(team, "one", "two")
    await team.command(f"/fork {await step(team, 1)} here")
    await team.seen("It goes on beside this one, in “⑂ one”.")
    beside = await team.opened("⑂ one")
    assert await remembered(beside) == ["one"]
    assert await remembered(team) == ["one", "two"]


@scenario()
async def named_step_is_found_by_its_name(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first, second = await steps(ann)
    await ann.command(f"/replay name {first} Start")
    await ann.seen("is now ★ Start: /replay restore @Start goes back to it.")
    await ann.command("/replay @start")
    await ann.seen(f"Back at turn 1, step 1 ({first})")
    await ann.command(f"/replay name {second} start")
    await ann.seen("is now ★ start")
    await ann.command("/replay @start")
    await ann.seen(f"Back at turn 2, step 1 ({second})")
    await ann.command(f"/replay name {second} -")
    await ann.seen("has no name any more")
    await ann.command("/replay @start")
    await ann.seen(re.compile("no such step|no step here", re.IGNORECASE))


@scenario()
async def switch_refuses_what_is_no_chat_of_mine(ann: Driver) -> None:
    await talk(ann, "one")
    bob = await ann.as_("Bob")
    await talk(bob, "mine")
    await bob.command("/chats")
    theirs = re.findall(r"([0-9a-f]{8}) · mine", (await bob.seen("Your chats")).text)[0]
    await ann.command(f"/switch {theirs}")
    await ann.seen("You have no such chat")
    await ann.command("/chats")
    assert "mine" not in (await ann.seen("Your chats")).text
