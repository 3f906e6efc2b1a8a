"""Every event once: what the gateway tells again, restarts, edits, and whoever is not for us to hear."""

from __future__ import annotations

from pathlib import Path

import pytest
from platforms.core import Json
from platforms.discord.channels import Channel
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from support.discord_acts import talk
from support.discord_bot import Bot, discord_bot
from support.idling import idle

from turnback.core.models import Action, Outcome, Surface


async def test_message_told_twice_at_once_and_again_after_a_resume_is_one_turn(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    await talk(ann, ann.private, "before")
    said = await ann.say("summarise")
    discord.redeliver("MESSAGE_CREATE")
    await ann.private.seen("You said: summarise")
    resumed = discord.gateway.resumed
    discord.drop("reconnect", repeat=50)
    await discord.signal.until(lambda: discord.gateway.resumed > resumed, lambda: "a resume")
    await idle(bot)
    await ann.private.no_replies(since=ann.private.find("You said: summarise").changed)
    assert await bot.texts(ann.private) == ["before", "You said: before", "summarise", "You said: summarise"]
    assert await bot.turns(ann.private) == 2
    assert said.id in {str(key) for key in bot.adapter._intake._recent}  # type: ignore[union-attr]


async def test_clear_in_words_told_twice_asks_once(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await talk(ann, ann.private, "one")
    await ann.say("!replay clear")
    discord.redeliver("MESSAGE_CREATE")
    assert len(await ann.private.replies()) == 1


async def test_command_told_twice_is_done_once(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await talk(ann, ann.private, "one", "two", "three")
    asked = await ann.slash("/undo")
    discord.redeliver("INTERACTION_CREATE")
    await asked.seen("Took 1 turn back")
    await idle(bot)
    trail = await bot.service.threads.audit_trail()
    assert sum(e.action is Action.UNDO and e.outcome is Outcome.DONE for e in trail) == 1


@pytest.mark.parametrize("first", ["caught up", "live"])
async def test_message_that_is_caught_up_with_and_told_live_is_one_turn(
    bot: Bot, discord: DiscordServer, ann: User, first: str
) -> None:
    """Both go through the same claim, whichever comes first."""
    await talk(ann, ann.private, "before")
    client = bot.adapter.outlet.client
    channel = client.get_partial_messageable(int(ann.private.id))
    intake = bot.adapter._intake
    assert intake is not None
    assert client.user is not None
    if first == "caught up":
        intake._recent.clear()
    said = await ann.say("only once")
    if first == "live":
        await ann.private.seen("You said: only once")
        intake._recent.clear()  # as after a restart: only the durable claim is left
    found = await channel.fetch_message(int(said.id))
    intake.message(found, client.user, blind=False)
    await ann.private.seen("You said: only once", since=0)
    await idle(bot)
    assert (await bot.texts(ann.private)).count("only once") == 1


async def test_claimed_message_that_never_began_runs_at_the_next_start(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        await talk(ann, ann.private, "one")
        await bot.service.threads.claim(
            Surface.DISCORD, f"{discord.bot.id}:5", payload(ann, "lost"), bot.service.people._clock()
        )
    async with discord_bot(tmp_path, discord):
        await ann.private.seen("You said: lost", since=0)
    async with discord_bot(tmp_path, discord) as bot:
        assert (await bot.texts(ann.private)).count("lost") == 1


async def test_private_command_that_never_began_is_answered_privately_after_a_restart(
    discord: DiscordServer, ann: User, general: Channel, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord) as bot:
        lost = payload(ann, "/web") | {"kind": "command", "hidden": True}
        lost["spot"] = {"channel": general.id, "guild": general.guild and general.guild.id, "threads": True}
        await bot.service.threads.claim(Surface.DISCORD, f"{discord.bot.id}:5", lost, bot.service.people._clock())
    async with discord_bot(tmp_path, discord):
        await ann.private.seen("signs you in", since=0)
        assert general.said() == []


async def test_edited_message_starts_nothing(bot: Bot, ann: User) -> None:
    said = await ann.say("one")
    await ann.private.seen("You said: one")
    await ann.edit(said, "one, or rather two")
    await ann.private.no_replies()
    assert await bot.texts(ann.private) == ["one", "You said: one"]


async def test_bots_and_webhooks_are_ignored(bot: Bot, discord: DiscordServer, ann: User, general: Channel) -> None:
    other = discord.other_bot("other")
    assert general.guild is not None
    general.guild.join(other)
    await other.say(f"{discord.bot.mention} one", general)
    discord.webhook_says("Deploys", f"{discord.bot.mention} /undo", general)
    await general.no_replies(since=0)


async def test_ids_are_texts_in_all_that_is_kept(bot: Bot, ann: User) -> None:
    """A browser would round numbers of 64 bits."""
    await talk(ann, ann.private, "one")
    kept = payload(ann, "x")
    thread = await bot.thread(ann.private)
    places = await bot.service.threads.places(thread)
    assert [(surface.value, key) for surface, key in places] == [("discord", ann.private.id)]
    assert all(isinstance(kept[name], str) for name in ("id", "user"))
    view = await bot.service.threads.view(thread)
    assert view is not None
    assert all(isinstance(turn.origin, str) for turn in view.turns)


def payload(user: User, text: str) -> Json:
    """A claimed message of somebody in their direct chat."""
    return {
        "kind": "message",
        "id": "5",
        "spot": {"channel": user.private.id, "guild": None, "threads": False},
        "user": user.id,
        "name": user.name,
        "at": "2026-01-01T00:00:00+00:00",
        "text": text,
        "addressed": True,
        "mentioned": False,
        "answers": None,
        "under": None,
        "hidden": False,
        "unreadable": False,
        "files": [],
    }
