"""Who leaves a channel reads its conversations no more, until they are back and speak there again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from platforms.slack.channels import Channel
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import Bot, slack_bot


async def chats(person: User) -> str:
    """The list of somebody's chats, as they see it."""
    await person.say("!chats")
    return (await person.private.seen("hats")).text


async def out(person: User, title: str) -> None:
    """Wait until a chat is not among somebody's any more."""
    async with asyncio.timeout(20):
        while title in await chats(person):
            pass


async def converse(ann: User, bob: User, channel: Channel) -> None:
    """Begin a thread in which both speak with the agent."""
    root = await ann.mention("ours", channel)
    await channel.seen("You said: ours", thread=root)
    await bob.mention("two", channel, thread=root)
    await channel.seen("You said: two", thread=root)
    assert "ours" in await chats(bob)


@pytest.mark.parametrize("private", [False, True])
async def test_member_who_leaves_cannot_read_the_threads_of_the_channel(
    bot: Bot, slack: SlackServer, ann: User, bob: User, private: bool
) -> None:
    channel = slack.channel("team", [ann, bob], private=private)
    await converse(ann, bob, channel)
    await bob.leave(channel)
    await out(bob, "ours")
    assert "ours" in await chats(ann)


@pytest.mark.parametrize("private", [False, True])
async def test_nobody_but_the_starter_reads_the_threads_of_a_channel_that_the_bot_is_put_out_of(
    bot: Bot, slack: SlackServer, ann: User, bob: User, private: bool
) -> None:
    channel = slack.channel("team", [ann, bob], private=private)
    await converse(ann, bob, channel)
    await ann.kick_bot(channel)
    await out(bob, "ours")
    assert "ours" in await chats(ann)


async def test_member_who_leaves_while_the_service_is_away_is_out(
    slack: SlackServer, ann: User, bob: User, general: Channel, tmp_path: Path
) -> None:
    async with slack_bot(tmp_path, slack):
        await converse(ann, bob, general)
    await bob.leave(general)
    async with slack_bot(tmp_path, slack):
        await out(bob, "ours")
