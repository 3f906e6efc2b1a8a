"""Trouble with the Bot API: it passes, and what came meanwhile is not lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import Bot, talk, telegram_bot

from turnback.core.models import Action, Outcome


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries come soon after one another."""
    monkeypatch.setattr("turnback.bots.telegram.adapter.TROUBLE_WAITS", (0.05, 0.1, 0.1))
    monkeypatch.setattr("turnback.bots.telegram.trouble.WAITS", (0.05, 0.1))
    monkeypatch.setattr("turnback.bots.supervising.AGAIN_AFTER", 0.1)
    monkeypatch.setattr("turnback.bots.supervising.LONGEST_WAIT", 0.2)


async def alert(bot: Bot, *, stands: bool) -> str:
    """Wait until the operator's alert of Telegram stands, or no more."""
    async with asyncio.timeout(5), bot.service.events.listen(after=0) as events:
        async for event in events:
            found = [a.text for a in bot.service.alerts.active]
            if event is not None and event.name == "alert" and bool(found) is stands:
                return "".join(found)
    raise AssertionError


async def alerts(bot: Bot) -> AsyncIterator[str]:
    async with bot.service.events.listen(after=0) as events:
        async for event in events:
            if event is not None and event.name == "alert":
                yield str(event.data["text"])


async def test_server_away_for_a_moment_is_not_even_noticed(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.fail_next("getUpdates", 502, times=2)
    await ann.say("one")
    await ann.private.seen("You said: one")
    assert bot.service.alerts.active == ()


@pytest.mark.usefixtures("bot")
async def test_update_that_cannot_be_read_costs_only_itself(telegram: TelegramServer, ann: User) -> None:
    telegram.updates.push("message", {"message_id": "?", "from": 5})
    await ann.say("one")
    await ann.private.seen("You said: one")
    telegram.updates.push("message", {"message_id": "?", "from": 5})
    await ann.say("two")
    await ann.private.seen("You said: two")


async def test_server_down_alerts_once_and_recovers(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    await telegram.down()
    assert "cannot be reached" in await alert(bot, stands=True)
    await ann.say("two")
    await asyncio.sleep(0.5)  # several tries fail meanwhile
    await telegram.up()
    await ann.private.seen("You said: two")
    await alert(bot, stands=False)
    told = [event.data["text"] for event in bot.service.events._kept if event.name == "alert"]
    assert len(told) == 2
    assert await bot.texts(ann.id) == ["one", "You said: one", "two", "You said: two"]


async def test_answer_of_a_turn_that_ran_while_the_server_was_down_arrives(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    await ann.say("slow 1")
    await telegram.updates.taken()
    await telegram.down()
    await asyncio.sleep(1.3)  # the turn ends meanwhile
    await telegram.up()
    await ann.private.seen("slept 1")


async def test_revoked_token_alerts_without_naming_it_and_recovers(
    bot: Bot, telegram: TelegramServer, ann: User, capsys: pytest.CaptureFixture[str]
) -> None:
    telegram.revoke_token()
    await ann.say("one")
    told = await alert(bot, stands=True)
    assert "token" in told
    assert telegram.token not in told
    telegram.restore_token()
    await ann.private.seen("You said: one")
    await alert(bot, stands=False)
    assert telegram.token not in "".join(capsys.readouterr())


async def test_start_with_a_refused_token_goes_on_trying(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    telegram.revoke_token()
    starting = telegram_bot(tmp_path, telegram)
    task = asyncio.create_task(starting.__aenter__())
    await telegram.arrived("getMe", 3)
    telegram.restore_token()
    try:
        await task
        await ann.say("one")
        await ann.private.seen("You said: one")
    finally:
        await starting.__aexit__(None, None, None)


async def test_slow_server_delays_answers_but_loses_none(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.fail_next("*", 0, delay=0.3, times=6)
    await ann.say("one")
    await ann.private.seen("You said: one")


async def test_lost_answer_of_a_send_does_not_lose_the_message(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.fail_next("sendMessage", 0, drop=True)
    await ann.say("one")
    await ann.private.seen("You said: one")


async def test_command_is_done_once_though_its_answer_has_to_wait(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    await talk(bot, ann, "one", "two")
    await ann.command("/replay list")
    step = re.findall(r"turn 2, step 1 · ([0-9a-f]{8})", (await ann.private.seen("Turn 2: two")).text)[0]
    await talk(bot, ann, "three")
    telegram.fail_next("sendMessage", 429, retry_after=1)
    await ann.command(f"/replay {step}")
    await ann.private.seen("Back at turn 2, step 1")
    refused, again = telegram.calls_to("sendMessage")[-2:]
    assert again.at - refused.at >= 1
    assert again.params == refused.params
    trail = await bot.service.threads.audit_trail()
    assert [(entry.action, entry.outcome) for entry in trail] == [(Action.RESTORE, Outcome.DONE)]


async def test_somebody_who_blocks_us_stops_nothing(bot: Bot, telegram: TelegramServer, ann: User, bob: User) -> None:
    await ann.say("slow 1")
    await telegram.updates.taken()
    await ann.block_bot()
    await bob.say("one")
    await bob.private.seen("You said: one")
    await ann.unblock_bot()
    await ann.say("two")
    await ann.private.seen("You said: two")


async def test_group_that_throws_us_out_stops_nothing(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann])
    await ann.say("@turnback_bot slow 1", group)
    await telegram.updates.taken()
    await ann.kick_bot(group)
    await ann.say("one")
    await ann.private.seen("You said: one")
    assert bot.service.alerts.active == ()


async def test_other_program_with_our_token_is_named(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.fail_next("getUpdates", 409, times=4)
    assert "Another program" in await alert(bot, stands=True)
    await ann.say("one")
    await ann.private.seen("You said: one")


async def test_menus_that_cannot_be_set_do_not_keep_us_from_working(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    telegram.fail_next("setMyCommands", 500, times=3)
    async with telegram_bot(tmp_path, telegram):
        await ann.say("one")
        await ann.private.seen("You said: one")


async def test_menus_are_set_once(telegram: TelegramServer, ann: User, bob: User, tmp_path: Path) -> None:
    group = telegram.supergroup("Team", [ann, bob])
    async with telegram_bot(tmp_path, telegram):
        await telegram.arrived("setMyCommands", 3)
    async with telegram_bot(tmp_path, telegram):
        await ann.say("one")
        await ann.private.seen("You said: one")
    assert len(telegram.calls_to("setMyCommands")) == 3
    assert "reset" in ann.menu()
    assert "reset" in ann.menu(group)
    assert "reset" not in bob.menu(group)
