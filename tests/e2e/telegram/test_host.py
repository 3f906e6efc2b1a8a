"""The commands in a bot that somebody has already: the example of the docs, in a process of its own."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.servers import environment

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "telegram_bot.py"


@pytest.fixture(autouse=True)
async def host(telegram: TelegramServer, tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The bot, when it polls."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLE),
        cwd=tmp_path,
        env=environment({"TOKEN": telegram.token, "API": telegram.base_url}),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await telegram.arrived("getUpdates", 1, seconds=30)
        yield process
    finally:
        process.terminate()
        _, told = await process.communicate()
        assert process.returncode == 0
        assert b"Traceback" not in told, told.decode()


async def said(user: User, *texts: str) -> None:
    for number, text in enumerate(texts, 1):
        await user.say(text)
        await user.private.seen(f"{number}. {text}")


async def test_existing_bot_gains_the_time_machine(ann: User) -> None:
    await said(ann, "one", "two", "three")
    await ann.command("/replay list")
    shown = await ann.private.seen("Steps of this chat")
    assert all(f"Turn {number}" in shown.text for number in (1, 2, 3))
    step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", shown.text)[0]
    await ann.command(f"/replay {step}")
    back = await ann.private.seen("Back at turn 1, step 1")
    assert back.reply_to is not None
    assert back.reply_to.text == "1. one"
    await ann.say("another two")
    await ann.private.seen("2. another two")
    await ann.command("/undo")
    await ann.press("Bring back", await ann.private.seen("Took 1 turn back"))
    await ann.private.seen("Brought back")


async def test_existing_bot_can_be_pointed_at_its_own_answers(ann: User) -> None:
    await said(ann, "one", "two")
    await ann.command("/replay restore", reply_to=ann.private.find("1. one"))
    await ann.private.seen("Back at turn 1, step 1")


async def test_existing_bot_asks_for_a_label(ann: User) -> None:
    await said(ann, "one")
    await ann.command("/replay list")
    await ann.press("Turn 1, step 1", await ann.private.seen("Steps of this chat"))
    await ann.press("Label", await ann.private.seen("Asked:"))
    question = await ann.private.seen("answer this message")
    await ann.say("good", reply_to=question)
    await ann.private.seen("★ good")
    await ann.say("two")
    await ann.private.seen("2. two")


async def test_existing_bot_keeps_its_own_commands_and_buttons(telegram: TelegramServer, ann: User) -> None:
    await ann.command("/start")
    await ann.private.seen("Say something, and I count it.")
    await said(ann, "one")
    for other in ("/help", "/stop", "/reset", "/web"):
        await ann.command(other)
        await ann.private.no_replies()
    answer = ann.private.find("1. one")
    answer.rows = [[{"text": "x", "callback_data": "page:2"}]]
    press = await ann.press("x", answer)
    await ann.private.no_replies()
    assert press.answer is None


async def test_existing_bot_obeys_its_own_name_and_no_other(telegram: TelegramServer, ann: User) -> None:
    group = telegram.supergroup("Team", [ann])
    await ann.command("/replay", group, named=True)
    await group.seen("There is no conversation here yet")
    await ann.say("/replay@other_bot list", group)
    await group.no_replies()


async def test_existing_bot_keeps_groups_apart(telegram: TelegramServer, ann: User) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann])
    await ann.say("in the group", group)
    await group.seen("1. in the group")
    await said(ann, "one")
    await ann.command("/replay list", group)
    shown = await group.seen("Steps of this chat")
    assert "one" not in shown.text
