"""The commands in a bot that somebody has already: the example of the docs, in a process of its own.

It reaches the server by Discord's own host names, through a proxy, with nothing patched.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.discord.channels import Channel
from platforms.discord.messages import Message
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from platforms.gate import Gate
from support.servers import environment

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "discord_bot.py"


@pytest.fixture(autouse=True)
async def host(discord: DiscordServer, general: Channel, tmp_path: Path) -> AsyncIterator[None]:
    """The bot, once it is connected."""
    async with Gate(discord.routes) as gate:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLE),
            cwd=tmp_path,
            env=environment({"TOKEN": discord.token, **gate.environment()}),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            await discord.ready(seconds=30)
            yield
        finally:
            process.terminate()
            _, told = await process.communicate()
        assert b"Traceback" not in told.replace(b"KeyboardInterrupt", b""), told.decode()
        assert gate.refused == []


async def said(user: User, *texts: str) -> None:
    for number, text in enumerate(texts, 1):
        await user.say(text)
        await user.private.seen(f"{number}. {text}")
    await listed(user, len(texts))


async def listed(user: User, turns: int) -> Message:
    """The list of steps, once the bot has recorded so many turns: it does that after it has answered."""
    async with asyncio.timeout(20):
        while True:
            shown = (await (await user.slash("/replay list")).replies())[0]
            if f"Turn {turns}:" in shown.text:
                return shown


async def test_existing_bot_gains_the_time_machine(ann: User) -> None:
    await said(ann, "one", "two", "three")
    shown = await listed(ann, 3)
    assert all(f"Turn {number}" in shown.text for number in (1, 2, 3))
    step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", shown.text)[0]
    assert len(await ann.autocomplete("/replay restore", step="")) == 3
    back = await (await ann.slash("/replay restore", step=step)).seen("Back at turn 1, step 1")
    assert back.button("Where it stands").url == (
        f"https://discord.com/channels/@me/{ann.private.id}/{ann.private.find('1. one').id}"
    )
    await ann.say("another two")
    await ann.private.seen("2. another two")
    await listed(ann, 2)
    undone = await (await ann.slash("/undo")).seen("Took 1 turn back")
    await (await ann.press("Bring back", undone)).seen("Brought back")


async def test_existing_bot_can_be_pointed_at_its_own_answers(ann: User) -> None:
    await said(ann, "one", "two")
    await (await ann.context_menu("Rewind to here", ann.private.find("1. one"))).seen("Back at turn 1, step 1")


async def test_existing_bot_asks_for_a_label(ann: User) -> None:
    await said(ann, "one")
    shown = await listed(ann, 1)
    step = await (await ann.select("Turn 1, step 1", shown)).seen("Asked:")
    asked = await ann.press("Label", step)
    await (await ann.submit(asked, {"A name for this step, in one word": "good"})).seen("★ good")


async def test_existing_bot_keeps_its_own_commands(discord: DiscordServer, ann: User) -> None:
    names = {str(command["name"]) for command in discord.commands}
    assert names == {"replay", "fork", "undo", "redo", "about", "Rewind to here", "Fork from here"}
    await (await ann.slash("/about")).seen("Say something, and I count it.")
    await said(ann, "one")


async def test_existing_bot_keeps_channels_apart(ann: User, general: Channel) -> None:
    await ann.say(f"{general.scene.bot.mention} in the channel", general)
    await general.seen("in the channel")
    await said(ann, "one")
    shown = await (await ann.slash("/replay list", general)).seen("Steps of this chat")
    assert "Turn 1: one" not in shown.text
