"""`turnback serve` as a process of its own: Discord's own host names, through a proxy, with nothing patched."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from platforms.gate import Gate
from support.discord_acts import talk
from support.servers import Running, serving, turnback

ACCESS = {"TURNBACK_ACCESS__ALLOW": '["discord:*"]'}


@asynccontextmanager
async def served(folder: Path, env: Mapping[str, str]) -> AsyncIterator[Running]:
    """A server in a process of its own; its start and end do not hold the loop that Discord's runs in."""
    context = serving(cwd=folder, env={**ACCESS, **env})
    running = await asyncio.to_thread(context.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


async def test_serve_through_proxy_and_certificate_of_the_environment(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with Gate(discord.routes) as gate:
        env = {"TURNBACK_DISCORD__TOKEN": discord.token, **gate.environment()}
        async with served(tmp_path, env) as running:
            await discord.ready(seconds=20)
            await discord.registered("help", seconds=20)
            await ann.send_document("a.txt", b"x", caption="one")
            await ann.private.seen("inbox/a.txt", seconds=20)
            await ann.say("two")  # once a turn is answered the one before is saved
            await ann.private.seen("You said: two", seconds=20)
            await (await ann.slash("/replay list")).seen("Turn 1: one")
            assert await asyncio.to_thread(running.end) == 0
            assert discord.token not in "".join(running.lines)
        assert set(gate.reached) == {"discord.com", "gateway.discord.gg", "cdn.discordapp.com"}
        assert gate.refused == []


async def test_proxy_of_the_settings_comes_first(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    async with Gate(discord.routes) as gate:
        env = {"TURNBACK_DISCORD__TOKEN": discord.token, **gate.environment()}
        env |= {"TURNBACK_DISCORD__PROXY": env["HTTPS_PROXY"], "HTTPS_PROXY": "http://127.0.0.1:9"}
        good = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
        assert "Turnback" in good.stdout
        assert "discord.com" in gate.reached


async def test_serve_killed_and_started_again_answers_every_message_once(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with Gate(discord.routes) as gate:
        env = {"TURNBACK_DISCORD__TOKEN": discord.token, **gate.environment()}
        async with served(tmp_path, env) as running:
            await discord.ready(seconds=20)
            await talk(ann, ann.private, "one")
            await asyncio.to_thread(running.end, signal.SIGKILL)
        await ann.say("two")
        async with served(tmp_path, env) as running:
            await ann.private.seen("You said: two", seconds=20)
            await ann.say("history")
            shown = await ann.private.seen("1. one", seconds=20)
            assert [shown.text.count(text) for text in ("one", "two")] == [1, 1]
            await asyncio.to_thread(running.end)


async def test_check_names_what_is_wrong_with_the_token(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    async with Gate(discord.routes) as gate:
        env = {"TURNBACK_DISCORD__TOKEN": discord.token, **gate.environment()}
        good = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
        assert "Turnback" in good.stdout
        assert good.stderr == ""
        discord.revoke_token()
        bad = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert bad.returncode == 1
    assert "discord.token" in bad.stdout
    assert discord.token not in bad.stdout + bad.stderr
