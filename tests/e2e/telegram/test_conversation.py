"""A conversation from end to end: messages in, answers out, and the time machine in between."""

from __future__ import annotations

import re
from pathlib import Path

from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.idling import idle
from support.telegram_bot import Bot, talk, telegram_bot

from turnback.core.models import Actor, Surface


async def test_message_is_answered(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "hello there")


async def test_whole_way_from_message_to_fork(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await ann.say("steps 2")
    answer = await ann.private.seen("done 2")
    await ann.say("history")
    await ann.private.seen("1. steps 2")
    await idle(bot)
    await ann.command("/replay list")
    shown = await ann.private.seen("Steps of this chat")
    step = re.findall(r"turn 1, step 3 · ([0-9a-f]{8})", shown.text)[0]
    await ann.command(f"/replay {step}")
    back = await ann.private.seen("Back at turn 1, step 3")
    assert back.reply_to is answer
    press = await ann.press("Bring back", back)
    assert (await press.answered()).text == ""
    await ann.private.seen("Brought back")
    assert (await bot.texts(ann.id))[-1].startswith("1. steps 2")
    await ann.command(f"/fork {step}")
    forked = await ann.private.seen("Forked turn 1, step 3")
    await ann.press("Continue here", forked)
    await ann.private.seen("Now talking into “⑂")
    await ann.say("history")
    await ann.private.seen("1. steps 2")


async def test_restore_takes_later_answers_away_where_that_is_set(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram, after_restore="delete") as bot:
        await talk(bot, ann, "one")
        await ann.command("/replay tree")
        between = await ann.private.seen("All steps of this chat")
        asked = await ann.say("two")
        later = await ann.private.seen("You said: two")
        await idle(bot)
        await ann.command("/replay list")
        listed = await ann.private.seen("Steps of")
        step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", listed.text)[0]
        await ann.command(f"/replay {step}")
        await ann.private.gone(later)
        await ann.private.gone(listed)
        kept = [ann.private.find("You said: one"), between, ann.private.find("Back at turn 1"), asked]
        assert not any(message.deleted for message in kept)


async def test_what_telegram_lets_nobody_delete_stays(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, after_restore="delete") as bot:
        await talk(bot, ann, "one", "two")
        old = ann.private.find("You said: two")
        telegram.clock.advance(48 * 3600 + 60)
        await talk(bot, ann, "three")
        await ann.command("/undo 2")
        await ann.private.seen("Took 2 turns back")
        await ann.private.gone(ann.private.find("You said: three"))
        assert not old.deleted
    for call in telegram.calls_to("deleteMessage*"):
        call.violations.clear()  # only Telegram knows how old is too old


async def test_restore_from_elsewhere_takes_later_messages_away_and_says_so(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram, after_restore="delete") as bot:
        await talk(bot, ann, "one", "two")
        later = ann.private.find("You said: two")
        for _ in range(2):
            await bot.service.rewind.undo(await owner(bot, ann), await bot.thread(ann.id), 1)
            told = await ann.private.seen("Ann went back to", since=0)
            await ann.private.gone(later)
            later = told


async def test_agent_that_takes_itself_back_is_still_read(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, after_restore="delete") as bot:
        await talk(bot, ann, "one", "two")
        later = ann.private.find("You said: two")
        await ann.say("undo yourself")
        answer = await ann.private.seen("undone")
        await ann.private.gone(later)
        await bot.presenter.settle(10)
        await ann.command("/replay list")
        await ann.private.seen("Steps of")
        assert not answer.deleted


async def test_command_as_a_reply_means_the_step_that_ended_with_the_message(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "one", "two", "three")
    await ann.command("/replay restore", reply_to=ann.private.find("You said: two"))
    await ann.private.seen("Back at turn 2")
    await ann.command("/replay name kept", reply_to=ann.private.find("You said: one"))
    await ann.private.seen("★ kept")
    await ann.command("/fork", reply_to=ann.private.find("You said: one"))
    await ann.private.seen("Forked turn 1")


async def test_restore_from_elsewhere_is_told_in_the_chat(bot: Bot, ann: User) -> None:
    await talk(bot, ann, "one", "two")
    await bot.service.rewind.undo(await owner(bot, ann), await bot.thread(ann.id), 1)
    await ann.private.seen("from the web page", since=0)


async def test_admin_is_told_of_alerts(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, admins=(f"telegram:{ann.id}",)) as bot:
        await talk(bot, ann, "one")
        bot.service.alerts.sound("disk", "The disk is nearly full.")
        await ann.private.seen("The disk is nearly full.", since=0)


async def owner(bot: Bot, user: User) -> Actor:
    """Whose direct chat it is, on the web page."""
    view = await bot.service.threads.view(await bot.thread(user.id))
    assert view is not None
    return Actor(account=view.thread.owner, surface=Surface.WEB, name=user.name)
