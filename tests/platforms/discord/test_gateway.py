"""The simulated gateway, as the real library and a bare client meet it."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest
from discord import utils
from platforms.discord.channels import Channel
from platforms.discord.echo import EchoBot, all_messages, connected
from platforms.discord.gateway import GUILD_MESSAGES, GUILDS
from platforms.discord.people import User
from platforms.discord.scene import Limits
from platforms.discord.server import DiscordServer, pointing

IDENTIFY = {"properties": {}, "intents": GUILDS | GUILD_MESSAGES}


class Bare:
    """A client that does just what a test says."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, server: DiscordServer) -> None:
        self.socket, self.server = socket, server

    async def send(self, op: int, data: Any = None) -> None:
        await self.socket.send_str(json.dumps({"op": op, "d": data}))

    async def identify(self, **more: Any) -> None:
        await self.send(2, {"token": self.server.token, **IDENTIFY, **more})

    async def hear(self) -> Any:
        return json.loads(await self.socket.receive_str(timeout=5))

    async def closed(self) -> int | None:
        """The code with which the server closes."""
        while not self.socket.closed:
            await self.socket.receive(timeout=5)
        return self.socket.close_code


@pytest.fixture
async def bare(server: DiscordServer) -> AsyncIterator[Bare]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{server.url}/?v=10&encoding=json") as socket:
        yield Bare(socket, server)


async def test_the_library_asks_for_zstd(server: DiscordServer, echo: EchoBot, ann: User, general: Channel) -> None:
    assert utils._ActiveDecompressionContext.COMPRESSION_TYPE == "zstd-stream"
    await ann.say("squeezed " * 200, general)
    await general.seen("ann: squeezed")


async def test_zlib_is_one_stream_flushed_after_every_payload(server: DiscordServer, general: Channel) -> None:
    url = f"{server.url}/?v=10&encoding=json&compress=zlib-stream"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        stream = zlib.decompressobj()
        hello = json.loads(stream.decompress(await socket.receive_bytes()))
        await Bare(socket, server).identify()
        ready = json.loads(stream.decompress(await socket.receive_bytes()))
    assert (hello["op"], ready["t"]) == (10, "READY")


async def test_an_uncompressed_session_begins_with_its_guilds(bare: Bare, general: Channel) -> None:
    assert (await bare.hear())["d"] == {"heartbeat_interval": 41250}
    await bare.send(1)
    assert (await bare.hear())["op"] == 11
    await bare.identify()
    ready, guild = await bare.hear(), await bare.hear()
    assert (ready["t"], ready["s"], guild["t"], guild["s"]) == ("READY", 1, "GUILD_CREATE", 2)
    assert [channel["name"] for channel in guild["d"]["channels"]] == ["general"]


@pytest.mark.parametrize("how", ["reconnect", "resumable", "lost", "close"])
async def test_a_dropped_connection_is_resumed_with_what_was_missed(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel, how: Any
) -> None:
    await ann.say("before", general)
    await general.seen("before")
    server.gateway.refusing = True
    server.drop(how)
    await server.signal.until(lambda: not server.gateway.connected, lambda: "the connection is gone")
    await ann.say("meanwhile", general)
    server.gateway.refusing = False
    await general.seen("ann: meanwhile", seconds=15)
    assert (server.gateway.identified, server.gateway.resumed) == (1, 1)
    assert echo.heard == ["before", "meanwhile"]
    assert server.violations == []


async def test_an_invalid_session_is_begun_anew(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel
) -> None:
    server.drop("invalid")
    await server.signal.until(lambda: server.gateway.identified == 2, lambda: "a second session", 15)
    await ann.say("again", general)
    await general.seen("ann: again")


async def test_a_forgotten_session_is_begun_anew(server: DiscordServer, echo: EchoBot) -> None:
    server.gateway.forget_sessions()
    server.drop("lost")
    await server.signal.until(lambda: server.gateway.identified == 2, lambda: "a second session", 15)
    assert server.gateway.resumed == 0


async def test_resuming_may_repeat_events(server: DiscordServer, echo: EchoBot, ann: User, general: Channel) -> None:
    await ann.say("once", general)
    await general.seen("ann: once")
    await server.gateway.flushed()
    server.drop("reconnect", repeat=2)
    await server.signal.until(lambda: server.gateway.resumed, lambda: "a resume", 15)
    await server.signal.until(lambda: len(echo.heard) == 2, lambda: "the repeated message")
    assert echo.heard == ["once", "once"]


async def test_redelivering_tells_the_same_message_again(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel
) -> None:
    await ann.say("twice", general)
    server.redeliver()
    await general.replies(2)
    assert echo.heard == ["twice", "twice"]


async def test_without_its_intent_content_is_empty_but_for_what_is_meant_for_the_bot(
    server: DiscordServer, ann: User, general: Channel
) -> None:
    async with connected(EchoBot(intents=discord.Intents.default()), server) as bot:
        await ann.say("among us", general, files={"a.txt": b"a"})
        await general.seen("ann:")
        await ann.say(f"{server.bot.mention} you", general)
        shown = await general.seen("you")
        await ann.say("and this", general, reply_to=shown)
        await general.seen("and this")
        await ann.say("but not this", general, reply_to=shown, ping=False)
        await general.replies()
        await ann.say("in private")
        await ann.private.seen("in private")
        assert bot.heard == ["", f"{server.bot.mention} you", "and this", "", "in private"]


async def test_a_privileged_intent_that_is_off_in_the_portal_is_refused(ann: User) -> None:
    async with DiscordServer(privileged=()) as server:
        with pointing(server), pytest.raises(discord.PrivilegedIntentsRequired):
            async with connected(EchoBot(intents=all_messages()), server):
                pass
        assert server.violations == []


async def test_a_wrong_token_is_refused(bare: Bare) -> None:
    await bare.identify(token="wrong")
    assert await bare.closed() == 4004
    assert bare.server.violations == []


async def too_much(bare: Bare) -> None:
    await bare.identify(padding="x" * 4096)


async def too_often(bare: Bare) -> None:
    for _ in range(121):
        await bare.send(1)


async def twice(bare: Bare) -> None:
    await bare.identify()
    await bare.identify()


BREACHES: dict[str, tuple[Any, int, str]] = {
    "payload": (too_much, 4002, "over 4096 bytes"),
    "pace": (too_often, 4008, "over 120 sends in 60 s"),
    "second identify": (twice, 4005, "already authenticated"),
    "before identify": (lambda bare: bare.send(3, {}), 4003, "before IDENTIFY"),
    "not JSON": (lambda bare: bare.socket.send_str("{"), 4002, "not JSON"),
    "unknown intents": (lambda bare: bare.identify(intents=1 << 30), 4013, "Invalid intent"),
}


@pytest.mark.parametrize("name", BREACHES)
async def test_breaking_a_rule_of_the_gateway_closes_and_is_counted(bare: Bare, name: str) -> None:
    act, code, words = BREACHES[name]
    await act(bare)
    assert await bare.closed() == code
    [violation] = bare.server.violations
    assert words in violation


async def test_a_client_without_heartbeats_is_closed_and_counted() -> None:
    async with DiscordServer(heartbeat_seconds=0.1) as server, aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{server.url}/?v=10&encoding=json") as socket:
            assert await Bare(socket, server).closed() == 4009
        assert server.violations == ["GATEWAY: 4009 no heartbeat in 0.1 s"]


async def test_a_client_with_heartbeats_stays(ann: User) -> None:
    async with DiscordServer(heartbeat_seconds=0.2, rates=False) as server:
        with pointing(server):
            async with connected(EchoBot(), server):
                await asyncio.sleep(0.7)
                assert server.gateway.connected
                assert server.gateway.identified == 1
        assert server.violations == []


async def test_an_answer_that_does_not_come_in_time_is_counted() -> None:
    async with DiscordServer(limits=Limits(answer_seconds=0.1), rates=False) as server:
        ann = server.user("ann")
        general = server.guild("Team", [ann]).channel("general")
        with pointing(server):
            async with connected(EchoBot(), server) as bot:
                await server.registered("replay")
                bot._connection.parsers["INTERACTION_CREATE"] = lambda _: None
                asked = await ann.slash("/replay list", general)
                await server.signal.until(lambda: server.violations, lambda: "a violation")
        assert asked.failed
        assert server.violations == ["INTERACTION /replay list: no answer within 0.1 s"]
