"""Trouble with Discord: it passes, or the operator is told, and what came meanwhile is not lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from platforms.discord.channels import Channel
from platforms.discord.guilds import Guild
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from support.discord_acts import talk
from support.discord_bot import Bot, discord_bot
from support.idling import idle

from turnback.bots.discord.markup import Shape, cut
from turnback.bots.platform import Said


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries come soon after one another."""
    monkeypatch.setattr("turnback.bots.discord.trouble.WAITS", (0.05, 0.1))
    monkeypatch.setattr("turnback.bots.supervising.AGAIN_AFTER", 0.1)
    monkeypatch.setattr("turnback.bots.supervising.LONGEST_WAIT", 0.2)


@pytest.fixture
async def bot(discord: DiscordServer, ann: User, tmp_path: Path) -> object:
    """A bot that is not patient."""
    async with discord_bot(tmp_path, discord, patience=0.5) as running:
        await discord.registered("help")
        yield running


async def alert(bot: Bot, *, stands: bool) -> str:
    """Wait until the operator's alert of Discord stands, or no more."""
    async with asyncio.timeout(20), bot.service.events.listen(after=0) as events:
        async for event in events:
            found = [a.text for a in bot.service.alerts.active]
            if event is not None and event.name == "alert" and bool(found) is stands:
                return "".join(found)
    raise AssertionError


async def test_refused_token_alerts_without_naming_it_and_recovers(
    bot: Bot, discord: DiscordServer, ann: User, capsys: pytest.CaptureFixture[str]
) -> None:
    discord.revoke_token()
    told = await alert(bot, stands=True)
    assert "discord.token" in told
    assert discord.token not in told
    discord.restore_token()
    await alert(bot, stands=False)
    await talk(ann, ann.private, "one")
    assert discord.token not in "".join(capsys.readouterr())


async def test_start_with_a_refused_token_goes_on_trying(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    discord.revoke_token()
    async with discord_bot(tmp_path, discord, connected=False) as bot:
        await discord.arrived("GET /users/@me", 2)
        discord.restore_token()
        await bot.presenter.connected("discord")
        await talk(ann, ann.private, "one")


async def test_gateway_that_refuses_connections_alerts_and_recovers(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    discord.gateway.refusing = True
    discord.drop("lost")
    assert "cannot be reached" in await alert(bot, stands=True)
    discord.gateway.refusing = False
    await alert(bot, stands=False)
    await talk(ann, ann.private, "one")


async def test_server_down_alerts_once_and_recovers(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await talk(ann, ann.private, "one")
    await discord.down()
    assert "cannot be reached" in await alert(bot, stands=True)
    await discord.up()
    await alert(bot, stands=False)
    told = [event for event in bot.service.events._kept if event.name == "alert"]
    assert len(told) == 2
    await talk(ann, ann.private, "two")


@pytest.mark.parametrize("how", ["reconnect", "invalid", "resumable", "lost"])
async def test_lost_session_is_made_anew_without_an_alert(
    bot: Bot, discord: DiscordServer, ann: User, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.adapter, "_patience", 30)
    await talk(ann, ann.private, "one")
    before = discord.gateway.identified + discord.gateway.resumed
    registered = len(discord.calls_to("* /applications/*/commands*"))
    discord.drop(how)  # type: ignore[arg-type]
    await discord.signal.until(
        lambda: discord.gateway.identified + discord.gateway.resumed > before, lambda: "a session", 20
    )
    await talk(ann, ann.private, "two")
    assert bot.service.alerts.active == ()
    assert len(discord.calls_to("* /applications/*/commands*")) == registered


async def test_what_was_written_while_the_session_was_gone_is_answered_once(
    bot: Bot, discord: DiscordServer, ann: User, guild: Guild
) -> None:
    general = guild.channel("later")
    await talk(ann, ann.private, "one")
    await talk(ann, general, "here")
    discord.gateway.refusing = True
    discord.gateway.forget_sessions()
    discord.drop("lost")
    await alert(bot, stands=True)
    await ann.say("two")
    await ann.say("three")
    await ann.say("nobody's business", general)
    await ann.say(f"{discord.bot.mention} there", general)
    discord.gateway.refusing = False
    await ann.private.seen("You said: three", seconds=20)
    await general.seen("You said: there", seconds=20)
    said = ["one", "You said: one", "two", "You said: two", "three", "You said: three"]
    assert await bot.texts(ann.private) == said
    assert await bot.texts(general) == ["here", "You said: here", "there", "You said: there"]


async def test_refused_intent_is_named(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    discord.gateway.privileged.clear()
    flags = type(discord.gateway).app_flags
    type(discord.gateway).app_flags = property(lambda _: 1 << 19)  # type: ignore[method-assign, assignment]
    try:
        async with discord_bot(tmp_path, discord, connected=False) as bot:
            assert "Message Content" in await alert(bot, stands=True)
    finally:
        type(discord.gateway).app_flags = flags  # type: ignore[method-assign]


async def test_busy_and_broken_sends_arrive_in_the_end(bot: Bot, discord: DiscordServer, ann: User) -> None:
    discord.fail_next("POST /channels/*/messages", 429, retry_after=0.2)
    await talk(ann, ann.private, "one")
    discord.fail_next("POST /channels/*/messages", drop=True)
    await talk(ann, ann.private, "two")
    discord.fail_next("POST /channels/*/messages", 503, times=2)
    await talk(ann, ann.private, "three")


async def test_slow_discord_delays_answers_but_loses_none(bot: Bot, discord: DiscordServer, ann: User) -> None:
    discord.fail_next("*", 0, delay=0.3, times=6)
    await talk(ann, ann.private, "one")


async def test_answer_of_a_turn_that_ran_while_discord_was_away_arrives(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    await ann.say("slow 1")
    await discord.signal.until(lambda: ann.private.typed, lambda: "typing")
    await discord.down()
    await alert(bot, stands=True)
    await asyncio.sleep(1.0)  # the turn ends meanwhile
    await discord.up()
    await ann.private.seen("slept 1", since=0, seconds=20)


async def test_answer_to_a_command_whose_connection_is_closed_comes_as_a_message(
    bot: Bot, discord: DiscordServer, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk(ann, ann.private, "one")

    async def closed_meanwhile(said: Said) -> Shape:
        await bot.adapter.outlet.client.close()
        return cut(said)

    monkeypatch.setattr("turnback.bots.discord.answering.shape", closed_meanwhile)
    await ann.slash("/replay list")
    listed = await ann.private.seen("Steps of this chat", seconds=20)
    assert not listed.about.get("interaction_metadata")


async def test_answer_to_a_command_waits_for_a_token_that_is_set_anew(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    await talk(ann, ann.private, "one")
    send = bot.adapter.outlet.send_rest

    async def revoked_first(*args: object) -> list[str]:
        discord.revoke_token()
        return await send(*args)  # type: ignore[arg-type]

    bot.adapter.outlet.send_rest = revoked_first  # type: ignore[method-assign, assignment]
    await ann.say("!replay list")
    await alert(bot, stands=True)
    bot.adapter.outlet.send_rest = send  # type: ignore[method-assign]
    discord.restore_token()
    await ann.private.seen("Steps of this chat", since=0)


async def test_answer_due_in_a_thread_that_was_archived_is_shown_there(bot: Bot, ann: User, general: Channel) -> None:
    thread = await ann.open_thread("trip", general)
    await ann.say(f"{general.scene.bot.mention} slow 1", thread)
    await general.scene.signal.until(lambda: thread.typed, lambda: "typing")
    thread.archive()
    await thread.seen("slept 1")


async def test_thread_that_was_locked_gets_no_answer_and_goes_on_when_it_is_open_again(
    bot: Bot, discord: DiscordServer, ann: User, general: Channel
) -> None:
    thread = await ann.open_thread("trip", general)
    await ann.say(f"{general.scene.bot.mention} slow 1", thread)
    await discord.signal.until(lambda: thread.typed, lambda: "typing")
    thread.archive(locked=True)
    await idle(bot)
    assert await bot.texts(thread) == ["slow 1", "slept 1"]
    assert thread.said() == []
    await talk(ann, general, "elsewhere")
    thread.unarchive()
    await talk(ann, thread, "and now?")
    assert (await bot.texts(thread))[2:] == ["and now?", "You said: and now?"]
