"""Look back: how much is saved, the list, the tree, one step, what differs."""

from __future__ import annotations

import re

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import restart, step, steps, talk


@scenario()
async def nothing_is_saved_before_the_first_word(ann: Driver) -> None:
    await ann.command("/replay")
    await ann.seen(re.compile("no steps|no conversation", re.IGNORECASE))


@scenario()
async def list_shows_each_turn_with_its_steps(ann: Driver) -> None:
    await talk(ann, "steps 1", "two")
    await ann.command("/replay list")
    shown = await ann.seen("Steps of this chat")
    lines = [line for line in shown.text.splitlines() if line]
    assert lines[1] == "Turn 1: steps 1"
    assert re.fullmatch(r"turn 1, step 1 · [0-9a-f]{8} · note · just now · demo", lines[2])
    assert re.fullmatch(r"turn 1, step 2 · [0-9a-f]{8} · answered · just now · demo", lines[3])
    assert lines[4] == "Turn 2: two"
    assert re.fullmatch(r"→ turn 2, step 1 · [0-9a-f]{8} · answered · just now · demo", lines[5])
    assert lines[6].startswith("Steps exist since ")
    assert lines[7].startswith("Budget of this chat: 3 of 50 steps")


@scenario()
async def marks_show_names_branches_and_what_is_set_aside(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first, second = await steps(ann)
    await ann.command(f"/replay name {first} start")
    await ann.seen("★ start")
    await ann.command(f"/replay {first}")
    await ann.seen("Back at turn 1")
    await talk(ann, "three")
    await ann.command("/replay list")
    shown = await ann.seen("1 step set aside: /replay tree")
    assert re.search(rf"{first}.*⎇.*★ start", shown.text)
    assert second not in shown.text
    await ann.command("/replay tree")
    shown = await ann.seen("All steps of this chat")
    assert re.search(rf"^↯ turn 2, step 1 · {second}", shown.text, re.MULTILINE)


@scenario()
async def list_has_pages_that_buttons_turn(ann: Driver) -> None:
    await talk(ann, "steps 11", "steps 11")
    await ann.command("/replay list")
    shown = await ann.seen("page 2 of 2")
    assert shown.text.count(" · note · ") == 3
    await ann.press("Page 1", shown)
    shown = await ann.seen("page 1 of 2")
    assert shown.text.count(" · note · ") + shown.text.count(" · answered · ") == 20
    await ann.press("Page 2", shown)
    await ann.seen("page 2 of 2")


@scenario()
async def step_can_be_opened(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command(f"/replay show {await step(ann, 1)}")
    shown = await ann.seen("Asked: one")
    assert {"Restore", "Fork", "Compare with now"} <= set(shown.buttons)
    assert "assistant: You said: one" in shown.text


@scenario(Feature.CHOICES)
async def step_chosen_from_the_list_opens_with_its_buttons(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/replay list")
    await ann.press("Turn 1, step 1", await ann.seen("Steps of this chat"))
    shown = await ann.seen("Asked: one")
    await ann.press("Compare", shown)
    await ann.seen("and now:")
    await ann.press("Restore", shown)
    await ann.seen("Back at turn 1, step 1")


@scenario(Feature.CHOICES, Feature.FORMS)
async def button_asks_for_the_name_of_a_step(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/replay list")
    await ann.press("Turn 1, step 1", await ann.seen("Steps of this chat"))
    await ann.press("Label", await ann.seen("Asked: one"), word="start")
    await ann.seen("is now ★ start")


@scenario()
async def steps_compare_with_now_and_with_each_other(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first, second = await steps(ann)
    await ann.command(f"/replay compare {first}")
    shown = await ann.seen(f"Turn 1, step 1 ({first}) and now:")
    assert "Only now:\nuser: two" in shown.text
    await ann.command(f"/replay compare {second} {first}")
    shown = await ann.seen(f"Turn 2, step 1 ({second}) and turn 1, step 1 ({first}):")
    assert f"Only in turn 2, step 1 ({second}):" in shown.text
    await ann.command(f"/replay compare {second} {second}")
    await ann.seen("are the same")


@scenario()
async def steps_are_there_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one", "two")
    before = await steps(ann)
    await restart(ann)
    assert await steps(ann) == before
