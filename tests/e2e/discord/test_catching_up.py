"""What people wrote while the bot was stopped: read afterwards, each thing once, in its order, within the limits."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from platforms.discord.channels import Channel
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing
from support.discord_acts import talk
from support.discord_bot import Bot, discord_bot
from support.idling import idle

from turnback.bots.discord import catching_up
from turnback.bots.discord.intake import Intake
from turnback.bots.discord.outlet import DiscordOutlet
from turnback.bots.discord.pacing import Pacer
from turnback.core.models import Surface


async def test_what_was_written_while_stopped_is_answered_once_over_restarts(
    discord: DiscordServer, ann: User, general: Channel, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "one")
        await talk(ann, general, "here")
        await idle(bot)
    await ann.say("two")
    await ann.say("nobody's business", general)
    await ann.say(f"{discord.bot.mention} there", general)
    async with discord_bot(tmp_path, discord) as bot:
        await ann.private.seen("You said: two")
        await general.seen("You said: there")
        await idle(bot)
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "three")
        assert await said(bot, ann.private) == ["one", "two", "three"]
        assert await said(bot, general) == ["here", "there"]


async def test_thread_that_was_archived_meanwhile_is_read(
    discord: DiscordServer, ann: User, general: Channel, tmp_path: Path
) -> None:
    thread = await ann.open_thread("trip", general)
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, thread, "one")
        await idle(bot)
    await ann.say(f"{discord.bot.mention} two", thread)
    thread.archive()
    async with discord_bot(tmp_path, discord) as bot:
        await thread.seen("You said: two")
        view = await bot.service.threads.find_thread(await bot.thread(thread))
        assert view is not None
        assert view.group


async def test_place_where_we_may_not_read_any_more_is_passed_over(
    discord: DiscordServer, ann: User, general: Channel, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, general, "here")
        await talk(ann, ann.private, "one")
        await idle(bot)
    assert general.guild is not None
    general.deny(general.guild.everyone, "read_message_history")
    await ann.say("two")
    await ann.say(f"{discord.bot.mention} there", general)
    async with discord_bot(tmp_path, discord):
        await ann.private.seen("You said: two")
        await talk(ann, general, "now")


async def test_what_is_a_day_old_is_let_be(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    clock = lambda: datetime.fromtimestamp(discord.clock.now(), UTC)  # noqa: E731
    async with discord_bot(tmp_path, discord, clock=clock) as bot:
        await talk(ann, ann.private, "one")
        await idle(bot)
    await ann.say("two")
    discord.clock.advance(25 * 3600)
    await ann.say("three")
    async with discord_bot(tmp_path, discord, clock=clock) as bot:
        await ann.private.seen("You said: three")
        assert await said(bot, ann.private) == ["one", "three"]


async def test_what_happens_now_waits_until_its_place_has_been_read(
    discord: DiscordServer, ann: User, bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "one")
        await idle(bot)
    await ann.say("two")
    readable, read = asyncio.Event(), DiscordOutlet.written_since

    async def later(self: DiscordOutlet, *where: Any) -> Any:
        await readable.wait()
        return await read(self, *where)

    monkeypatch.setattr(DiscordOutlet, "written_since", later)
    async with discord_bot(tmp_path, discord) as bot:
        await ann.say("three")
        await talk(bob, bob.private, "nobody waits for ann")
        assert await said(bot, ann.private) == ["one"]
        readable.set()
        await ann.private.seen("You said: three")
        assert await said(bot, ann.private) == ["one", "two", "three"]


async def test_end_before_a_place_was_read_loses_nothing(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "one")
        await idle(bot)
    await ann.say("two")
    discord.fail_next(f"GET /channels/{ann.private.id}/messages", 0, delay=5.0)
    async with discord_bot(tmp_path, discord):
        await ann.say("three")
        await discord.arrived(f"GET /channels/{ann.private.id}/messages")
    discord.stop_failing()
    async with discord_bot(tmp_path, discord) as bot:
        await ann.private.seen("You said: three")
        assert await said(bot, ann.private) == ["one", "two", "three"]


async def test_end_in_the_middle_of_catching_up_loses_nothing_and_doubles_nothing(
    discord: DiscordServer, ann: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "one")
        await idle(bot)
    for text in ("two", "three", "four"):
        await ann.say(text)
    claimed = Intake._claim
    second: asyncio.Event = asyncio.Event()

    async def until_the_second(self: Intake, heard: Any) -> bool:
        if heard.text in ("three", "four"):
            second.set()
            await asyncio.Event().wait()  # as if the power went off here
        return await claimed(self, heard)

    with monkeypatch.context() as patched:
        patched.setattr(Intake, "_claim", until_the_second)
        async with discord_bot(tmp_path, discord) as bot:
            await ann.private.seen("You said: two", since=0)
            await second.wait()
            await idle(bot)
    async with discord_bot(tmp_path, discord) as bot:
        await ann.private.seen("You said: four")
        assert await said(bot, ann.private) == ["one", "two", "three", "four"]


async def test_so_many_places_and_messages_are_read_within_the_limits_of_discord(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "PLACES", 30)
    monkeypatch.setattr(catching_up, "MESSAGES", 40)
    async with DiscordServer() as discord:
        with pointing(discord):
            people = [discord.user(f"user{number}") for number in range(31)]
            async with discord_bot(tmp_path, discord, pacer=Pacer()) as bot:
                await spoken_to(bot, discord, people)
            before = len(discord.calls_to("GET /channels/*/messages"))
            for number in range(45):
                await people[-1].say(f"message {number}")
            async with discord_bot(tmp_path, discord, pacer=Pacer()) as bot:
                await people[-1].private.seen("You said: message 0")
                read = await discord.arrived("GET /channels/*/messages", before + 30)
                assert all(people[0].private.id not in call.method for call in read[before:])
                async with asyncio.timeout(20):
                    while await claims(bot) < 31 + 40:  # noqa: ASYNC110 - nobody tells of claims
                        await asyncio.sleep(0.05)
                assert await claims(bot) == 31 + 40
            assert discord.violations == []


async def spoken_to(bot: Bot, discord: DiscordServer, people: list[User]) -> None:
    """They all have spoken to the bot in their direct chats, one after the other."""
    begin = datetime.now(UTC)
    for number, user in enumerate(people):
        key, at = f"{discord.bot.id}:{discord.scene.snowflake()}", begin + timedelta(seconds=number)
        await bot.service.threads.claim(Surface.DISCORD, key, {}, at, place=user.private.id)
        await bot.service.threads.start_claim(Surface.DISCORD, key)


async def claims(bot: Bot) -> int:
    """How many there are."""
    store: Any = bot.service.threads
    return int(await store._db.read(lambda db: db.execute("SELECT count(*) FROM claim").fetchone()[0]))


async def said(bot: Bot, channel: Channel) -> list[str]:
    """What people said in the thread of a channel."""
    return [text for text in await bot.texts(channel) if not text.startswith("You said")]
