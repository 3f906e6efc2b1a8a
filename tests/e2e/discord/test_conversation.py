"""A conversation from end to end: messages in, answers out, and the time machine in between."""

from __future__ import annotations

from pathlib import Path

from platforms.discord.channels import Channel
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from support.discord_acts import step_of, talk
from support.discord_bot import Bot, discord_bot

from turnback.core.models import Actor, Surface


async def test_message_is_answered(bot: Bot, ann: User) -> None:
    await ann.say("hello there")
    await ann.private.seen("You said: hello there")


async def test_whole_way_from_message_to_fork(bot: Bot, ann: User) -> None:
    here = ann.private
    await ann.say("steps 2")
    await here.seen("done 2")
    await ann.say("history")
    await here.seen("1. steps 2")
    step = await step_of(ann, here, 1, 3)
    restored = await ann.slash("/replay restore", here, step=step)
    back = await restored.seen("Back at turn 1, step 3")
    again = await ann.press("Bring back", back)
    await again.seen("Brought back")
    assert (await bot.texts(here))[-1].startswith("1. steps 2")
    forked = await (await ann.slash("/fork", here, step=step)).seen("Forked turn 1, step 3")
    await (await ann.press("Continue here", forked)).seen("Now talking into “⑂")
    await ann.say("history")
    await here.seen("1. steps 2")


async def test_restore_names_the_message_where_the_chat_now_stands(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    answer = ann.private.find("You said: one")
    back = await (await ann.slash("/replay restore", step=await step_of(ann, ann.private, 1))).seen("Back at turn 1")
    assert back.button("Where it stands").url == f"https://discord.com/channels/@me/{ann.private.id}/{answer.id}"


async def test_restore_by_words_is_a_reply_to_the_message_where_the_chat_now_stands(
    bot: Bot, ann: User, general: Channel
) -> None:
    answer = await talk(ann, general, "one")
    await talk(ann, general, "two")
    step = await step_of(ann, general, 1)
    await ann.say(f"{general.scene.bot.mention} replay restore {step}", general)
    assert (await general.seen("Back at turn 1")).reply_to is answer


async def test_restore_takes_later_answers_away_where_that_is_set(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord, after_restore="delete"):
        await discord.registered("help")
        await talk(ann, ann.private, "one", "two")
        later = ann.private.find("You said: two")
        await ann.slash("/replay restore", step=await step_of(ann, ann.private, 1))
        await ann.private.gone(later)
        assert not ann.private.find("You said: one").deleted


async def test_rewind_from_a_messages_menu_means_the_step_that_ended_with_it(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two", "three")
    await (await ann.context_menu("Rewind to here", ann.private.find("You said: two"))).seen("Back at turn 2")
    await (await ann.context_menu("Fork from here", ann.private.find("You said: one"))).seen("Forked turn 1")


async def test_menu_of_a_message_that_ended_no_step_says_so(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one")
    mine = next(message for message in ann.private.messages.values() if message.author is ann)
    await (await ann.context_menu("Rewind to here", mine)).seen("No step ended with that message")


async def test_command_as_a_reply_means_the_step_that_ended_with_the_message(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    await ann.say("!replay name kept", reply_to=ann.private.find("You said: one"))
    await ann.private.seen("★ kept")


async def test_restore_from_elsewhere_is_told_in_the_chat(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    thread = await bot.thread(ann.private)
    view = await bot.service.threads.view(thread)
    assert view is not None
    owner = Actor(account=view.thread.owner, surface=Surface.WEB, name="Ann")
    await bot.service.rewind.undo(owner, thread, 1)
    await ann.private.seen("from the web page", since=0)


async def test_admin_is_told_of_alerts(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    async with discord_bot(tmp_path, discord, admins=(f"discord:{ann.id}",)) as bot:
        await talk(ann, ann.private, "one")
        bot.service.alerts.sound("disk", "The disk is nearly full.")
        await ann.private.seen("The disk is nearly full.", since=0)
