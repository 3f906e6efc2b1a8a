"""A conversation with the agent on Slack: direct, and with commands, buttons and approvals."""

from __future__ import annotations

import pytest
from platforms.slack.channels import Channel
from platforms.slack.people import User
from support.idling import idle
from support.slack_bot import Bot

pytestmark = pytest.mark.usefixtures("bot")


async def test_message_in_the_direct_chat_is_answered(ann: User) -> None:
    await ann.say("one")
    shown = await ann.private.seen("You said: one")
    assert shown.blocks[0]["type"] == "markdown"
    assert shown.thread_ts is None


async def test_command_lists_steps_and_a_button_goes_back(bot: Bot, ann: User) -> None:
    for text in ("one", "two"):
        await ann.say(text)
        await ann.private.seen(f"You said: {text}")
    await idle(bot)
    await (await ann.command("/replay list")).answered()
    listed = await ann.private.seen("Turn 2: two")
    menu = listed.selects[0]
    await ann.select(menu["options"][0]["text"]["text"], listed)
    shown = await ann.private.seen("Asked: ")
    await ann.press("Restore", shown)
    await ann.private.seen("Back at turn")


async def test_undo_takes_a_turn_back_and_the_answer_links_to_where_it_stands(bot: Bot, ann: User) -> None:
    for text in ("one", "two"):
        await ann.say(text)
        await ann.private.seen(f"You said: {text}")
    await ann.command("/undo")
    shown = await ann.private.seen("Took 1 turn back")
    await ann.press("Bring back", shown)
    await ann.private.seen("Brought back")
    assert len(await bot.texts(ann.private.id)) == 4


async def test_approval_card_changes_once_it_is_answered(ann: User) -> None:
    await ann.say("shell echo hi")
    card = await ann.private.seen("Approval needed")
    await ann.press("Approve", card)
    await ann.private.seen(lambda message: message.text == "hi")
    await ann.private.seen("Approved by Ann", since=0)
    assert card.buttons == []


async def test_answer_that_takes_time_grows_by_edits(ann: User) -> None:
    await ann.say("slow 1")
    await ann.private.seen("slept 1")


async def test_label_is_asked_for_in_a_form(bot: Bot, ann: User) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    await idle(bot)
    await ann.command("/replay list")
    listed = await ann.private.seen("Turn 1: one")
    await ann.select(listed.selects[0]["options"][0]["text"]["text"], listed)
    shown = await ann.private.seen("Asked: one")
    label = next(button for button in shown.buttons if button.action_id.startswith("turnback:ask:"))
    await ann.press(label)
    view = await ann.modal()
    await ann.submit({view["blocks"][0]["element"]["action_id"]: "start"})
    await ann.private.seen("start")
    await ann.command("/replay show @start")
    await ann.private.seen("Asked: one")


async def test_shortcut_rewinds_to_the_answer_that_it_is_used_on(ann: User, general: Channel) -> None:
    root = await ann.mention("one", general)
    first = await general.seen("You said: one", thread=root)
    await ann.mention("two", general, thread=root)
    await general.seen("You said: two", thread=root)
    await (await ann.shortcut(first, "turnback:rewind")).answered()
    await general.seen("Back at turn 1", thread=root)
    await ann.shortcut(first, "turnback:fork")
    await general.seen("Forked turn 1", thread=root)
    assert first.thread_ts == root.ts


async def test_help_names_every_command(ann: User) -> None:
    await ann.command("/help")
    await ann.private.seen("/replay restore STEP")


async def test_web_link_is_shown_to_the_asker_alone(ann: User, bob: User, general: Channel) -> None:
    await ann.command("/web", general)
    shown = await general.seen(lambda message: bool(message.buttons))
    assert shown.only_for == ann.id
    root = await bob.mention("one", general)
    await general.seen("You said: one", thread=root)
    await bob.mention("web", general, thread=root)
    private = await general.seen(lambda message: bool(message.buttons), thread=root)
    assert private.only_for == bob.id


async def test_very_long_answer_comes_as_a_file(ann: User) -> None:
    await ann.say("shell seq 1 9000")
    await ann.press("Approve", await ann.private.seen("Approval needed"))
    shown = await ann.private.seen(lambda message: message.data is not None)
    assert shown.data is not None
    assert shown.data.decode().split()[-1] == "9000"


async def test_file_that_comes_with_a_message_reaches_the_agent(ann: User) -> None:
    await ann.send_file("a.txt", b"x", comment="look")
    await ann.private.seen("inbox/a.txt")
