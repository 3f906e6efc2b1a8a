"""Who is put out of a thread reads its conversation no more, nor does anybody but the starter when we are put out."""

from __future__ import annotations

import asyncio

from platforms.discord.channels import Channel
from platforms.discord.guilds import Guild
from platforms.discord.people import User
from support.discord_acts import talk
from support.discord_bot import Bot


async def chats(person: User) -> str:
    """The list of somebody's chats, as they see it."""
    await person.say("/chats")
    return (await person.private.seen("hats")).text


async def out(person: User, title: str) -> None:
    """Wait until a chat is not among somebody's any more."""
    async with asyncio.timeout(20):
        while title in await chats(person):
            pass


async def test_member_who_is_put_out_of_a_thread_cannot_read_it_until_they_speak_there_again(
    bot: Bot, ann: User, bob: User, general: Channel
) -> None:
    thread = await ann.open_thread("billing", general)
    await talk(ann, thread, "ours")
    await talk(bob, thread, "two")
    assert "ours" in await chats(bob)
    await ann.remove(bob, thread)
    await out(bob, "ours")
    assert "ours" in await chats(ann)
    await talk(bob, thread, "three")
    assert "ours" in await chats(bob)


async def test_nobody_but_the_starter_reads_the_conversations_of_a_server_that_we_are_put_out_of(
    bot: Bot, ann: User, bob: User, guild: Guild, general: Channel
) -> None:
    thread = await ann.open_thread("billing", general)
    for place, title in ((general, "ours"), (thread, "also ours")):
        await talk(ann, place, title)
        await talk(bob, place, "two")
    assert "also ours" in await chats(bob)
    guild.kick_bot()
    await out(bob, "ours")
    assert "also ours" in await chats(ann)
