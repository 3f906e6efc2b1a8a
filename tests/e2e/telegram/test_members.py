"""Who leaves a group reads its chat no more, until they are back and speak there again."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from platforms.telegram.chats import Chat, Topic
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import Bot, talk, telegram_bot

NAME = "@turnback_bot"


@pytest.fixture(autouse=True)
def hears_all(telegram: TelegramServer) -> None:
    telegram.bot.privacy = False


async def ask(bot: Bot, user: User, chat: Chat, text: str, topic: Topic | None = None) -> None:
    await talk(bot, user, text, chat=chat, topic=topic)


async def chats(user: User) -> str:
    """The list of somebody's chats, as they see it."""
    await user.command("/chats")
    return (await user.private.seen(re.compile("[Yy]our chats|no chats"))).text


async def out(user: User, title: str) -> None:
    """Wait until a chat is not among somebody's any more."""
    async with asyncio.timeout(20):
        while f"· {title} ·" in await chats(user):
            pass


async def team(bot: Bot, telegram: TelegramServer, ann: User, bob: User) -> Chat:
    """A group in which both have spoken to the bot."""
    group = telegram.supergroup("Team", [ann, bob])
    await ask(bot, ann, group, "ours")
    await ask(bot, bob, group, "two")
    assert "· ours ·" in await chats(bob)
    return group


async def test_member_who_leaves_cannot_read_the_chat_and_can_when_back_and_speaking(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = await team(bot, telegram, ann, bob)
    thread = await bot.thread(group.id)
    await bob.leave(group)
    await out(bob, "ours")
    await bob.command(f"/switch {thread}")
    await bob.private.seen("You have no such chat")
    assert "· ours ·" in await chats(ann)
    await bob.join(group)
    await out(bob, "ours")
    await ask(bot, bob, group, "three")
    assert "· ours ·" in await chats(bob)


async def test_member_who_leaves_without_a_message_is_told_of_where_the_bot_is_an_admin(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = (await team(bot, telegram, ann, bob)).make_bot_admin()
    telegram.promote(bob, group)
    await telegram.updates.taken()
    assert "· ours ·" in await chats(bob), "who becomes an admin does not leave"
    await bob.leave(group, shown=False)
    await out(bob, "ours")


async def test_member_who_is_thrown_out_cannot_read_the_chat(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = await team(bot, telegram, ann, bob)
    await ann.remove(bob, group)
    await out(bob, "ours")


async def test_nobody_but_the_starter_reads_the_chat_of_a_group_that_the_bot_is_put_out_of(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = await team(bot, telegram, ann, bob)
    await ann.kick_bot(group)
    await out(bob, "ours")
    assert "· ours ·" in await chats(ann)


async def test_member_who_speaks_in_a_topic_and_leaves_while_the_service_is_away_is_out(
    telegram: TelegramServer, ann: User, bob: User, tmp_path: Path
) -> None:
    forum = telegram.supergroup("Club", [ann, bob], forum=True)
    topic = forum.topic("billing")
    async with telegram_bot(tmp_path, telegram) as bot:
        await ask(bot, ann, forum, "ours", topic)
    await bob.say(f"{NAME} two", forum, topic=topic)
    await bob.leave(forum)
    async with telegram_bot(tmp_path, telegram) as bot:
        await forum.seen("You said: two", topic=topic)
        await out(bob, "ours")
    assert "ours" not in bob.private.said()[-1].text


async def test_member_who_leaves_twice_by_a_second_delivery_after_a_restart_stays_in_when_back(
    telegram: TelegramServer, ann: User, bob: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        group = await team(bot, telegram, ann, bob)
        await bob.leave(group)
        left = telegram.updates.history[-1]
        await out(bob, "ours")
        await bob.join(group)
        await ask(bot, bob, group, "three")
    telegram.redeliver(left)
    async with telegram_bot(tmp_path, telegram) as bot:
        await telegram.updates.confirmed()
        assert "· ours ·" in await chats(bob)


async def test_fork_of_who_leaves_stays_theirs(bot: Bot, telegram: TelegramServer, ann: User, bob: User) -> None:
    group = await team(bot, telegram, ann, bob)
    await bob.command("/fork", group)
    await group.seen("Forked")
    await bob.leave(group)
    await out(bob, "ours")
    assert "⑂ ours" in await chats(bob)
