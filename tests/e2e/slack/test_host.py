"""The commands in a Bolt app that somebody has already: the example of the docs, in a process of its own."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.slack.channels import Channel, Message
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.servers import environment

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "slack_bot.py"


@pytest.fixture(autouse=True)
async def host(slack: SlackServer, tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The app, when it is connected."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLE),
        cwd=tmp_path,
        env=environment({"BOT_TOKEN": slack.bot_token, "APP_TOKEN": slack.app_token, "API": slack.base_url}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await slack.connected(seconds=30)
        yield process
    finally:
        process.terminate()
        _, told = await process.communicate()
        assert b"Traceback" not in told, told.decode()


async def said(user: User, *texts: str) -> None:
    for number, text in enumerate(texts, 1):
        await user.say(text)
        await user.private.seen(f"{number}. {text}")


async def listed(user: User, words: str) -> Message:
    """The list, once what the app answered with is recorded, too."""
    for _ in range(50):
        await user.command("/replay list")
        shown = await user.private.seen(lambda message: message.text.startswith(("Steps of this chat", "No")))
        if words in shown.text:
            return shown
    raise AssertionError(f"{words!r} is not recorded")


async def test_existing_app_gains_the_time_machine(ann: User) -> None:
    await said(ann, "one", "two", "three")
    shown = await listed(ann, "Turn 3")
    assert all(f"Turn {number}" in shown.text for number in (1, 2, 3))
    step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", shown.text)[0]
    await ann.command(f"/replay {step}")
    await ann.private.seen("Back at turn 1, step 1")
    await ann.say("another two")
    await ann.private.seen("2. another two")
    await listed(ann, "another two")
    await ann.command("/undo")
    await ann.press("Bring back", await ann.private.seen("Took 1 turn back"))
    await ann.private.seen("Brought back")


async def test_existing_app_can_be_pointed_at_its_own_answers(ann: User) -> None:
    await said(ann, "one", "two")
    await listed(ann, "Turn 2")
    await ann.shortcut(ann.private.find("1. one"), "turnback:rewind")
    await ann.private.seen("Back at turn 1, step 1")


async def test_existing_app_asks_for_a_label(ann: User) -> None:
    await said(ann, "one")
    await ann.select("Turn 1, step 1", await listed(ann, "Turn 1"))
    await ann.press("Label", await ann.private.seen("Asked:"))
    view = await ann.modal()
    await ann.submit({view["blocks"][0]["element"]["action_id"]: "good"})
    await ann.private.seen("★ good")


async def test_existing_app_hears_bang_words_in_its_threads_and_all_else_stays_its_own(
    ann: User, general: Channel
) -> None:
    root = await ann.say("in the channel", general)
    await general.seen("1. in the channel")
    await ann.say("!nice", general, thread=root)
    await general.seen("2. !nice", thread=root)
    await ann.say("!replay list", general, thread=root)
    shown = await general.seen("Turn 1", thread=root)
    assert "in the channel" in shown.text
