"""A conversation from end to end: messages in, answers out, and the time machine in between."""

from __future__ import annotations

import re
from pathlib import Path

from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import Bot, telegram_bot

from turnback.core.models import Actor, Surface


async def test_message_is_answered(bot: Bot, ann: User) -> None:
    await ann.say("hello there")
    await ann.private.seen("You said: hello there")


async def test_whole_way_from_message_to_fork(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await ann.say("steps 2")
    answer = await ann.private.seen("done 2")
    await ann.say("history")
    await ann.private.seen("1. steps 2")
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
    async with telegram_bot(tmp_path, telegram, after_restore="delete"):
        for text in ("one", "two"):
            await ann.say(text)
            await ann.private.seen(f"You said: {text}")
        later = ann.private.find("You said: two")
        await ann.command("/replay list")
        step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", (await ann.private.seen("Steps of")).text)[0]
        await ann.command(f"/replay {step}")
        await ann.private.gone(later)
        assert not ann.private.find("You said: one").deleted


async def test_command_as_a_reply_means_the_step_that_ended_with_the_message(bot: Bot, ann: User) -> None:
    for text in ("one", "two", "three"):
        await ann.say(text)
        await ann.private.seen(f"You said: {text}")
    await ann.command("/replay restore", reply_to=ann.private.find("You said: two"))
    await ann.private.seen("Back at turn 2")
    await ann.command("/replay name kept", reply_to=ann.private.find("You said: one"))
    await ann.private.seen("★ kept")
    await ann.command("/fork", reply_to=ann.private.find("You said: one"))
    await ann.private.seen("Forked turn 1")


async def test_restore_from_elsewhere_is_told_in_the_chat(bot: Bot, ann: User) -> None:
    for text in ("one", "two"):
        await ann.say(text)
        await ann.private.seen(f"You said: {text}")
    thread = await bot.thread(ann.id)
    view = await bot.service.threads.view(thread)
    assert view is not None
    owner = Actor(account=view.thread.owner, surface=Surface.WEB, name="Ann")
    await bot.service.rewind.undo(owner, thread, 1)
    await ann.private.seen("from the web page", since=0)


async def test_admin_is_told_of_alerts(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, admins=(f"telegram:{ann.id}",)) as bot:
        await ann.say("one")
        await ann.private.seen("You said: one")
        bot.service.alerts.sound("disk", "The disk is nearly full.")
        await ann.private.seen("The disk is nearly full.", since=0)
