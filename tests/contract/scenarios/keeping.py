"""What is kept and what goes: clear, delete, memory, the page, retention."""

from __future__ import annotations

import re

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import remembered, restart, steps, talk


@scenario()
async def clear_asks_and_takes_no_for_an_answer(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/replay clear")
    await ann.press("Cancel", await ann.seen("Delete the 1 step saved here"))
    await ann.seen("Nothing was done.")
    assert len(await steps(ann)) == 1


@scenario()
async def clear_deletes_the_steps_and_leaves_the_conversation(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/replay clear")
    await ann.press("Delete 2 steps", await ann.seen("That cannot be undone."))
    await ann.seen("Deleted 2 steps. The conversation stays.")
    assert await steps(ann) == []
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    assert await remembered(ann) == ["one"]


@scenario()
async def clear_cannot_be_confirmed_after_ten_minutes(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/replay clear")
    question = await ann.seen("Delete the 1 step")
    ann.pass_time(minutes=11)
    await ann.press("Delete 1 step", question)
    await ann.seen("That question is no longer open. Nothing was done")
    assert len(await steps(ann)) == 1


@scenario()
async def clear_cannot_be_confirmed_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/replay clear")
    question = await ann.seen("Delete the 1 step")
    await restart(ann)
    await ann.press("Delete 1 step", question)
    await ann.seen("That question is no longer open. Nothing was done")
    assert len(await steps(ann)) == 1


@scenario()
async def delete_asks_and_the_next_message_begins_anew(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/delete")
    await ann.press("Delete this chat", await ann.seen("for good: 2 turns, 2 steps?"))
    await ann.seen("Deleted this chat")
    assert await remembered(ann) == []
    await ann.command("/chats")
    assert "· one ·" not in (await ann.seen("Your chats")).text


@scenario()
async def memory_is_shown_and_one_fact_can_be_forgotten(ann: Driver) -> None:
    await talk(ann, "one", "remember tea is green")
    await ann.command("/memory list")
    shown = await ann.seen("tea is green")
    fact = re.findall(r"(\w+) · turn 2 · tea is green", shown.text)[0]
    await ann.command(f"/memory forget {fact}")
    await ann.seen("Forgotten, and the steps saved from turn 2 on with it.")
    await ann.command("/memory list")
    await ann.seen("Nothing is remembered here.")
    await ann.say("recall")
    assert "tea" not in (await ann.seen(lambda shown: bool(shown.text))).text


@scenario()
async def memory_goes_back_with_the_chat(ann: Driver) -> None:
    await talk(ann, "one", "remember tea is green")
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await ann.command("/memory list")
    await ann.seen("Nothing is remembered here.")
    await ann.command("/redo")
    await ann.seen("Brought back.")
    await ann.command("/memory list")
    await ann.seen("tea is green")


@scenario()
async def memory_off_asks_and_deletes_facts_and_steps(ann: Driver) -> None:
    await talk(ann, "remember tea is green")
    await ann.command("/memory off")
    await ann.press("Turn memory off", await ann.seen("deletes the 1 remembered fact of this chat"))
    await ann.seen("Memory is off")
    assert await steps(ann) == []
    await ann.command("/memory on")
    await ann.seen("Memory is on")
    await ann.command("/memory list")
    await ann.seen("Nothing is remembered here.")


@scenario()
async def web_gives_a_link_that_signs_in(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/web")
    shown = await ann.seen("This link signs you in on the page. It works once, for 10 minutes")
    assert [link.partition("=")[0] for link in shown.links] == ["http://127.0.0.1:8765/login?link"]


@scenario(Feature.GROUPS)
async def web_in_a_group_is_for_one_persons_eyes(ann: Driver) -> None:
    team = await ann.group("Team", "Bob")
    await talk(team, "one")
    await team.command("/web")
    link = await team.seen_privately("This link signs you in")
    assert any("/login?link=" in url for url in link.links)
    bob = await team.as_("Bob")
    assert not any("login" in part for shown in await bob.answers() for part in (shown.text, *shown.links))


@scenario(admins=["Root"])
async def retention_is_for_admins_only(ann: Driver) -> None:
    await ann.command("/retention")
    await ann.seen("Only an admin of this service may do that.")
    await ann.command("/help")
    assert "/retention" not in (await ann.seen("What you can ask here")).text
    root = await ann.as_("Root")
    await root.command("/retention")
    await root.seen("retention_days = 30")
    await root.command("/retention retention_days 90")
    await root.seen("Set: retention_days = 90")
    await root.command("/retention retention_days 4000")
    await root.seen(re.compile("3650"))
    await root.command("/retention")
    await root.seen("retention_days = 90")


@scenario(admins=["Root"])
async def retention_that_deletes_more_asks_first(ann: Driver) -> None:
    await talk(ann, "one")
    ann.pass_time(minutes=3 * 24 * 60)
    root = await ann.as_("Root")
    await root.command("/retention retention_days 2")
    await root.press("Cancel", await root.seen("The next clean-up then deletes 1 step of 1 chat, for good."))
    await root.seen("Nothing was done.")
    await root.command("/retention")
    await root.seen("retention_days = 30")
