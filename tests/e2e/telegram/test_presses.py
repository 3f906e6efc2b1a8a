"""Buttons: their payloads, their answers, what they ask, and who may press them."""

from __future__ import annotations

from pathlib import Path

import pytest
from platforms.telegram.chats import Message
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.idling import idle
from support.telegram_bot import Bot, talk, telegram_bot


async def opened(user: User) -> Message:
    """A step, opened from the list."""
    await user.command("/replay list")
    shown = await user.private.seen("Steps of this chat")
    await user.press("Turn 1, step 1", shown)
    return await user.private.seen("Asked:")


async def test_list_offers_each_step_within_the_limits(bot: Bot, ann: User) -> None:
    await ann.say("steps 25")
    await ann.private.seen("done 25")
    await idle(bot)
    await ann.command("/replay list 1")
    shown = await ann.private.seen("page 1 of 2")
    payloads = [button.data for button in shown.buttons if button.data]
    assert sum("show" in payload for payload in payloads) == 20
    assert all(len(payload.encode()) <= 64 for payload in payloads)


async def test_button_in_a_topic_addresses_its_chat_and_step(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.bot.privacy = False
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    await talk(bot, ann, "elsewhere", chat=forum)
    await talk(bot, ann, "one", "two", chat=forum, topic=topic)
    await ann.command("/replay list", forum, topic=topic)
    await ann.press("Turn 1, step 1", await forum.seen("Turn 2: two", topic=topic))
    shown = await forum.seen("Asked: one", topic=topic)
    assert all(len(button.data.encode()) <= 64 for button in shown.buttons if button.data)
    await ann.press("Restore", shown)
    await forum.seen("Back at turn 1, step 1", topic=topic)
    assert await bot.texts(f"{forum.id}/{topic.id}") == ["one", "You said: one"]
    assert await bot.texts(forum.id) == ["elsewhere", "You said: elsewhere"]


async def test_page_button_turns_the_page_in_place(bot: Bot, ann: User) -> None:
    await ann.say("steps 25")
    await ann.private.seen("done 25")
    await idle(bot)
    await ann.command("/replay list")
    shown = await ann.private.seen("page 2 of 2")
    press = await ann.press("Page 1", shown)
    assert (await press.answered()).text == ""
    assert await ann.private.seen("page 1 of 2") is shown


async def test_opened_step_can_be_restored_forked_compared(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "one", "two")
    shown = await opened(ann)
    await ann.press("Compare", shown)
    await ann.private.seen("in common")
    await ann.press("Fork", shown)
    await ann.private.seen("Forked turn 1")
    await ann.press("Restore", shown)
    await ann.private.seen("Back at turn 1, step 1")
    assert await bot.texts(ann.id) == ["one", "You said: one"]


async def test_label_button_asks_and_the_answer_names_the_step(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one")
        await ann.press("Label", await opened(ann))
        question = await ann.private.seen("answer this message")
    async with telegram_bot(tmp_path, telegram) as bot:  # the question is known after a restart, too
        await ann.say("first-try", reply_to=question)
        await ann.private.seen("★ first-try")
        assert await bot.texts(ann.id) == ["one", "You said: one"]


async def test_button_of_before_a_restart_works(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one", "two")
        shown = await opened(ann)
    async with telegram_bot(tmp_path, telegram) as bot:
        await ann.press("Restore", shown)
        await ann.private.seen("Back at turn 1, step 1")


async def test_button_of_another_chats_step_is_refused(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann])
    await talk(bot, ann, "one")
    shown = await opened(ann)
    await talk(bot, ann, "two", chat=group)
    answer = group.find("You said: two")
    answer.rows = [[{"text": "Restore", "callback_data": shown.button("Restore").data}]]
    await ann.press("Restore", answer)
    await group.seen("There is no such step in this chat.")
    assert await bot.texts(group.id) == ["two", "You said: two"]


async def test_question_is_answered_only_by_who_was_asked(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann, bob])
    telegram.promote(bob, group)
    await talk(bot, ann, "one", chat=group)
    await ann.command("/replay clear", group)
    question = await group.seen("Delete the 1 step")
    await bob.press("Delete 1 step", question)
    await group.seen("Only Ann")
    assert await bot.steps(group.id) == 1
    await ann.press("Delete 1 step", question)
    await group.seen("Deleted 1 step (by Ann)")


async def test_press_on_what_is_no_button_of_ours_does_nothing(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "one")
    answer = ann.private.find("You said: one")
    for data in ("?", "~", "/", "page:2", "/replay show ~" + "A" * 22, "?/nonsense"):
        answer.rows = [[{"text": "x", "callback_data": data}]]
        press = await ann.press("x", answer)
        assert (await press.answered()).text == ""
    assert await bot.texts(ann.id) == ["one", "You said: one"]


async def test_press_on_a_deleted_message_still_works(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "one")
    await ann.command("/replay list")
    shown = await ann.private.seen("Steps of this chat")
    button = shown.button("Turn 1, step 1")
    await ann.delete(shown)
    press = await ann.press(button)
    await press.answered()
    await ann.private.seen("Asked:")


async def test_press_on_a_deleted_message_in_a_forum_does_nothing(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    telegram.bot.privacy = False
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    await talk(bot, ann, "one", chat=forum, topic=topic)
    await ann.command("/replay list", forum, topic=topic)
    shown = await forum.seen("Steps of this chat", topic=topic)
    button = shown.button("Turn 1, step 1")
    await ann.delete(shown)
    press = await ann.press(button)
    await press.answered()
    await forum.no_replies()


async def test_press_is_answered_before_anything_else(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await talk(bot, ann, "one")
    await ann.command("/replay list")
    shown = await ann.private.seen("Steps of this chat")
    telegram.fail_next("sendMessage", 0, delay=2)
    press = await ann.press("Turn 1, step 1", shown)
    await press.answered(seconds=1)
    await ann.private.seen("Asked:")


@pytest.mark.parametrize("label", ["Approve", "Deny"])
async def test_approval_card_is_decided_by_its_buttons(bot: Bot, ann: User, label: str) -> None:
    await ann.say("shell echo hi")
    card = await ann.private.seen("run_command")
    await ann.press(label, card)
    await ann.private.seen("hi" if label == "Approve" else "denied")
    await ann.private.signal.until(lambda: not card.buttons, lambda: f"the card loses its buttons: {card.text}")


async def test_approval_card_of_a_blocked_bot_does_not_leave_the_turn_waiting(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    await talk(bot, ann, "one")
    thread = await bot.thread(ann.id)
    async with bot.service.events.listen() as events:
        await ann.say("shell echo hi")
        await telegram.updates.taken()
        await ann.block_bot()
        async for event in events:
            if event is not None and event.name == "ended":
                break
    assert [turn for turn in await bot.service.threads.running() if turn.thread_id == thread] == []
