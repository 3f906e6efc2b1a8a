"""Trouble with Slack: it passes, and what came meanwhile is not lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from platforms.slack.channels import Channel
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import Bot, server, slack_bot

from turnback.bots.slack.pacing import Limits, Pacer


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries come soon after one another."""
    monkeypatch.setattr("turnback.bots.slack.adapter.WATCH_SECONDS", 0.05)
    monkeypatch.setattr("turnback.bots.slack.adapter.AWAY_SECONDS", 0.3)
    monkeypatch.setattr("turnback.bots.slack.adapter.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("turnback.bots.slack.trouble.WAITS", (0.05, 0.1))
    monkeypatch.setattr("turnback.bots.supervising.AGAIN_AFTER", 0.1)
    monkeypatch.setattr("turnback.bots.supervising.LONGEST_WAIT", 0.2)


async def alert(bot: Bot, *, stands: bool) -> str:
    """Wait until the operator's alert of Slack stands, or no more."""
    async with asyncio.timeout(8), bot.service.events.listen(after=0) as events:
        async for event in events:
            found = [a.text for a in bot.service.alerts.active]
            if event is not None and event.name == "alert" and bool(found) is stands:
                return "".join(found)
    raise AssertionError


async def test_connection_that_slack_renews_is_not_even_noticed(bot: Bot, slack: SlackServer, ann: User) -> None:
    await slack.disconnect()
    await slack.connected()
    await ann.say("one")
    await ann.private.seen("You said: one")
    assert bot.service.alerts.active == ()


async def test_lost_connection_is_made_again(bot: Bot, slack: SlackServer, ann: User) -> None:
    await slack.disconnect("lost")
    await ann.say("one")
    await ann.private.seen("You said: one", seconds=10)


async def test_server_down_alerts_once_and_recovers(bot: Bot, slack: SlackServer, ann: User) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    await slack.down()
    assert "cannot be reached" in await alert(bot, stands=True)
    await ann.say("two")
    await asyncio.sleep(0.5)  # several tries fail meanwhile
    await slack.up()
    await ann.private.seen("You said: two", seconds=10)
    await alert(bot, stands=False)
    told = [event.data["text"] for event in bot.service.events._kept if event.name == "alert"]
    assert len(told) == 2
    assert await bot.texts(ann.private.id) == ["one", "You said: one", "two", "You said: two"]


async def test_answer_of_a_turn_that_ran_while_the_server_was_down_arrives(
    bot: Bot, slack: SlackServer, ann: User
) -> None:
    await ann.say("slow 1")
    await slack.deliveries.settled()
    await slack.down()
    await asyncio.sleep(1.3)  # the turn ends meanwhile
    await slack.up()
    await ann.private.seen("slept 1", seconds=10)


async def test_revoked_token_alerts_without_naming_it_and_recovers(
    bot: Bot, slack: SlackServer, ann: User, capsys: pytest.CaptureFixture[str]
) -> None:
    slack.revoke_token("invalid_auth")
    told = await alert(bot, stands=True)
    assert "slack.bot_token" in told
    slack.restore_token()
    await ann.say("one")
    await ann.private.seen("You said: one", seconds=10)
    await alert(bot, stands=False)
    assert slack.bot_token not in "".join(capsys.readouterr())


async def test_refused_app_token_is_named(slack: SlackServer, ann: User, tmp_path: Path) -> None:
    slack.revoke_app_token()
    starting = slack_bot(tmp_path, slack)
    task = asyncio.create_task(starting.__aenter__())
    await slack.arrived("apps.connections.open", 3)
    slack.restore_token()
    try:
        await task
        await ann.say("one")
        await ann.private.seen("You said: one")
    finally:
        await starting.__aexit__(None, None, None)


async def test_slow_server_delays_answers_but_loses_none(bot: Bot, slack: SlackServer, ann: User) -> None:
    slack.fail_next("*", 0, delay=0.3, times=6)
    await ann.say("one")
    await ann.private.seen("You said: one")


@pytest.mark.parametrize("status", [500, 503, 200])
async def test_failure_inside_slack_passes(bot: Bot, slack: SlackServer, ann: User, status: int) -> None:
    slack.fail_next("chat.postMessage", status, times=2)
    await ann.say("one")
    await ann.private.seen("You said: one")


async def test_lost_answer_of_a_send_does_not_lose_the_message(bot: Bot, slack: SlackServer, ann: User) -> None:
    slack.fail_next("chat.postMessage", 0, drop=True)
    await ann.say("one")
    await ann.private.seen("You said: one")


async def test_refused_for_too_much_waits_as_long_as_slack_says(bot: Bot, slack: SlackServer, ann: User) -> None:
    slack.fail_next("chat.postMessage", 429, retry_after=1)
    await ann.say("one")
    await ann.private.seen("You said: one")
    refused, again = slack.calls_to("chat.postMessage")[-2:]
    assert again.at - refused.at >= 1
    assert again.params["text"] == refused.params["text"]


async def test_last_edit_arrives_though_slack_refuses_the_one_before(bot: Bot, slack: SlackServer, ann: User) -> None:
    await ann.say("shell echo hi")
    card = await ann.private.seen("Approval needed")
    slack.fail_next("chat.update", 429, retry_after=1)
    await ann.press("Approve", card)
    await ann.private.seen("Approved by Ann")


async def test_channel_that_throws_us_out_stops_nothing(
    bot: Bot, slack: SlackServer, ann: User, general: Channel
) -> None:
    await ann.mention("slow 1", general)
    await slack.deliveries.settled()
    await ann.kick_bot(general)
    await ann.say("one")
    await ann.private.seen("You said: one")
    assert bot.service.alerts.active == ()


async def test_messages_of_a_channel_keep_to_its_pace(tmp_path: Path) -> None:
    async with server(rates="enforce", method_rates="enforce") as slack:
        ann = slack.user("Ann")
        async with slack_bot(tmp_path, slack, pacer=Pacer(Limits())):
            for number in range(5):
                await ann.say(f"m{number}")
            await ann.private.seen("You said: m4", seconds=15)
        assert slack.violations == []
        assert [c for c in slack.calls_to("chat.postMessage") if c.status == 429] == []
