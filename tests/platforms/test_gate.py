"""The gate: a program in a process of its own reaches the simulated servers by their real names, and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys

import aiohttp
import pytest
from platforms.discord.server import DiscordServer
from platforms.gate import Gate

BOT = """
import os, sys, discord

class Bot(discord.Client):
    async def on_message(self, message):
        if message.author != self.user:
            [attachment] = message.attachments
            await message.channel.send((await attachment.read()).decode(), file=discord.File(sys.argv[0]))

Bot(intents=discord.Intents(guilds=True, guild_messages=True, message_content=True), proxy=os.environ["HTTPS_PROXY"],
    guild_ready_timeout=0.1, allowed_mentions=discord.AllowedMentions.none()).run(os.environ["TOKEN"], log_handler=None)
"""


async def test_the_unpatched_library_reaches_discord_by_its_real_names(tmp_path: object) -> None:
    program = f"{tmp_path}/bot.py"
    with open(program, "w") as file:  # noqa: ASYNC230, PTH123 - one small file, before anything runs
        file.write(BOT)
    async with DiscordServer(rates=False) as server, Gate(server.routes) as gate:
        ann = server.user("ann")
        general = server.guild("Team", [ann]).channel("general")
        environment = os.environ | gate.environment() | {"TOKEN": server.token}
        bot = await asyncio.create_subprocess_exec(sys.executable, "-W", "ignore", program, env=environment)
        try:
            await server.ready(seconds=20)
            await ann.send_document("a.txt", b"from the file", general)
            answer = await general.seen("from the file")
            server.drop("reconnect")
            await server.signal.until(lambda: server.gateway.resumed, lambda: "a resume", 15)
        finally:
            bot.terminate()
            await bot.wait()
        assert list(answer.files) == ["bot.py"]
        assert set(gate.reached) == {"discord.com", "gateway.discord.gg", "cdn.discordapp.com"}
        assert gate.refused == []
        assert server.violations == []


async def test_a_client_of_this_process_trusts_the_gates_authority_strictly() -> None:
    url = "https://discord.com/api/v10/users/@me"
    async with DiscordServer() as server, Gate(server.routes) as gate, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bot {server.token}"}
        async with session.get(url, proxy=gate.url, headers=headers, ssl=gate.context()) as answer:
            assert (await answer.json())["id"] == server.bot.id


async def test_other_hosts_and_plain_requests_are_refused() -> None:
    async with DiscordServer() as server, Gate(server.routes) as gate, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientHttpProxyError):
            await session.get("https://example.org/", proxy=gate.url)
        async with session.get("http://discord.com/", proxy=gate.url) as answer:
            assert answer.status == 502
        assert gate.refused == ["example.org:443", "http://discord.com/"]
        assert gate.reached == []


async def test_a_server_that_is_down_is_a_broken_connection_not_a_refused_host() -> None:
    async with DiscordServer() as server, Gate(server.routes) as gate:
        await server.down()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=gate.context())) as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get("https://discord.com/api/v10/gateway", proxy=gate.url)
        assert (set(gate.reached), gate.refused) == ({"discord.com"}, [])
