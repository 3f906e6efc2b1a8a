"""The simulated server's trouble, rate limits and registration, as the real library meets them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import discord
import pytest
from discord import app_commands
from platforms.discord.channels import Channel
from platforms.discord.echo import EchoBot, connected
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing


def channel_of(bot: EchoBot, general: Channel) -> discord.PartialMessageable:
    return bot.get_partial_messageable(int(general.id))


async def test_a_planned_failure_happens_once(server: DiscordServer, echo: EchoBot, general: Channel) -> None:
    server.fail_next("POST /channels/*/messages", 403)
    with pytest.raises(discord.Forbidden):
        await channel_of(echo, general).send("first")
    await channel_of(echo, general).send("second")
    assert [message.text for message in general.said()] == ["second"]
    assert server.violations == []


async def test_a_planned_429_is_waited_out_by_the_library(
    server: DiscordServer, echo: EchoBot, general: Channel
) -> None:
    server.fail_next("POST /channels/*/messages", 429, retry_after=0.2)
    began = time.monotonic()
    await channel_of(echo, general).send("patience")
    assert time.monotonic() - began >= 0.2
    assert [call.status for call in server.calls_to("POST /channels/*/messages")] == [429, 200]
    assert server.violations == []


async def test_an_applied_failure_loses_only_the_answer(server: DiscordServer, echo: EchoBot, general: Channel) -> None:
    server.fail_next("POST /channels/*/messages", 502, applied=True)
    sent = await channel_of(echo, general).send("once")
    assert [message.id for message in general.said()] == [str(sent.id)]


async def test_a_dropped_answer_breaks_the_connection(server: DiscordServer, echo: EchoBot, general: Channel) -> None:
    server.fail_next("POST /channels/*/messages", drop=True)
    with pytest.raises(aiohttp.ClientError):
        await channel_of(echo, general).send("lost")


async def test_an_answer_that_the_server_delays_too_long_is_unknown_and_not_counted(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel
) -> None:
    server.fail_next("POST /interactions/*/callback", 0, delay=0.3)
    asked = await ann.slash("/replay list", general)
    await server.arrived("POST /interactions/*/callback")
    server.clock.advance(3)
    await server.signal.until(lambda: server.refusals, lambda: "a refusal")
    assert server.refusals == [f"POST /interactions/{asked.id}/TOKEN/callback: 10062 Unknown interaction"]
    assert asked.failed
    assert server.violations == []


async def test_a_revoked_token_is_refused_until_it_is_restored(server: DiscordServer, general: Channel) -> None:
    bot = EchoBot()
    running = asyncio.create_task(bot.start(server.token))
    await server.ready()
    server.revoke_token()
    with pytest.raises(discord.ConnectionClosed) as closed:
        await running
    assert closed.value.code == 4004
    await bot.close()
    with pytest.raises(discord.LoginFailure):
        async with connected(EchoBot(), server):
            pass
    server.restore_token()
    async with connected(EchoBot(), server):
        pass


async def test_a_bot_outlives_an_outage(server: DiscordServer, echo: EchoBot, ann: User, general: Channel) -> None:
    await ann.say("before", general)
    await general.seen("before")
    await server.down()
    await ann.say("meanwhile", general)
    await server.up()
    await general.seen("ann: meanwhile", seconds=20)
    assert echo.heard == ["before", "meanwhile"]
    assert server.violations == []


async def test_the_library_keeps_the_rate_limits_that_the_headers_tell() -> None:
    async with DiscordServer() as server:
        ann = server.user("ann")
        general = server.guild("Team", [ann]).channel("general")
        with pointing(server):
            async with connected(EchoBot(), server) as bot:
                waiting = [asyncio.create_task(channel_of(bot, general).send(str(n))) for n in range(6)]
                await general.replies(5)
                assert len(general.said()) == 5
                server.clock.advance(5)
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
        assert server.violations == []


async def test_exceeding_a_rate_limit_is_refused_and_counted() -> None:
    async with DiscordServer() as server:
        taken = [server.rates.take("POST", "/channels/1/messages") for _ in range(6)]
        assert [bool(one.wait) for one in taken] == [False] * 5 + [True]
        assert taken[4].headers["X-RateLimit-Remaining"] == "0"
        assert not server.rates.take("POST", "/channels/2/messages").wait
        assert not server.rates.take("PATCH", "/channels/1/messages/7").wait
        server.clock.advance(5)
        assert not server.rates.take("POST", "/channels/1/messages").wait


async def test_many_requests_in_all_are_too_many() -> None:
    async with DiscordServer() as server:
        server.clock.now = lambda: 1_700_000_000.0  # type: ignore[method-assign]
        waits = [server.rates.take("POST", f"/channels/{n}/messages").wait for n in range(51)]
        assert (any(waits[:50]), waits[50]) == (False, 1.0)
        assert not server.rates.take("POST", "/webhooks/1/token").wait


@pytest.fixture
async def tree(server: DiscordServer) -> Any:
    async with discord.Client(intents=discord.Intents.none()) as client:
        await client.login(server.token)
        yield app_commands.CommandTree(client)


def add(tree: app_commands.CommandTree[Any], name: str, description: str = "d") -> None:
    @tree.command(name=name, description=description)
    async def command(asked: discord.Interaction, step: str = "") -> None: ...


async def test_registering_what_is_there_already_is_counted(
    server: DiscordServer, tree: app_commands.CommandTree[Any]
) -> None:
    add(tree, "undo")
    [first] = await tree.sync()
    add(tree, "redo")
    second = await tree.sync()
    assert server.violations == []
    assert first.id in {command.id for command in second}
    await tree.sync()
    [violation] = server.violations
    assert "though none changed" in violation


async def test_wiping_and_making_again_is_counted(server: DiscordServer, tree: app_commands.CommandTree[Any]) -> None:
    add(tree, "undo")
    await tree.sync()
    tree.clear_commands(guild=None)
    await tree.sync()
    add(tree, "undo")
    await tree.sync()
    assert [sentence.partition(": ")[2] for sentence in server.violations] == [
        "all commands are wiped",
        "undo was removed and is made again",
    ]


async def test_single_commands_are_made_changed_and_deleted(
    server: DiscordServer, tree: app_commands.CommandTree[Any], general: Channel
) -> None:
    http, app = tree.client.http, server.scene.app_id
    made = await http.upsert_global_command(app, {"name": "undo", "description": "d", "type": 1})
    [fetched] = await tree.fetch_commands()
    await fetched.edit(description="other")
    assert server.violations == []
    await fetched.edit(description="other")
    assert len(server.violations) == 1
    await fetched.delete()
    assert (str(made["id"]), server.commands) == (str(fetched.id), [])
    assert general.guild is not None
    guild = discord.Object(int(general.guild.id))
    add(tree, "redo")
    tree.copy_global_to(guild=guild)
    await tree.sync(guild=guild)
    assert [command["name"] for command in general.guild.commands] == ["redo"]
