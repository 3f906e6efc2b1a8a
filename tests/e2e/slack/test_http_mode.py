"""Slack calls us: events, commands and presses at /hooks/slack, each with a signature."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.idling import idle
from support.slack_bot import Bot, slack_bot

from turnback.bots.slack.hook import Hook
from turnback.bots.webhooks import MOST_BYTES


class _Quiet(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """The test's own stay."""


@asynccontextmanager
async def listening(hook: Hook) -> AsyncIterator[str]:
    """The hook on a free port."""
    server = _Quiet(uvicorn.Config(hook, port=0, log_config=None, lifespan="off", ws="none"))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn offers no event
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/hooks/slack"
    finally:
        server.should_exit = True
        await serving


@pytest.fixture
async def bot(slack: SlackServer, tmp_path: Path) -> AsyncIterator[Bot]:
    options: dict[str, Any] = {"app_token": None, "signing_secret": slack.signing_secret}
    async with slack_bot(tmp_path, slack, **options) as running, listening(running.adapter.hook) as url:
        slack.request_url = url
        yield running
        await slack.deliveries.settled()


async def test_url_is_verified(bot: Bot, slack: SlackServer) -> None:
    assert await slack.verify_url()


async def test_events_commands_and_presses_are_answered(bot: Bot, ann: User, slack: SlackServer) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    await idle(bot)
    await (await ann.command("/undo")).answered()
    shown = await ann.private.seen("Took 1 turn back")
    await (await ann.press("Bring back", shown)).answered()
    await ann.private.seen("Brought back")
    assert slack.calls_to("apps.connections.open") == []


async def test_event_is_answered_at_once_and_not_when_the_turn_ends(bot: Bot, ann: User, slack: SlackServer) -> None:
    await ann.say("slow 2")
    event = next(delivery for delivery in slack.deliveries.history if delivery.kind == "events_api")
    await event.answered(seconds=1)
    assert ann.private.said() == []
    await ann.private.seen("slept 2")


@pytest.mark.parametrize("forged", [{"secret": "another"}, {"age": 600.0}])
async def test_forged_or_old_request_is_refused(
    bot: Bot, ann: User, slack: SlackServer, forged: dict[str, str]
) -> None:
    event = {"type": "message", "channel": ann.private.id, "user": ann.id, "ts": "1700000000.000100", "text": "one"}
    body = json.dumps({"type": "event_callback", "team_id": slack.app.team, "event_id": "Ev1", "event": event})
    headers = slack.hooks.signed(body, **forged)  # type: ignore[arg-type]
    answer = await slack.hooks.post(body, headers | {"Content-Type": "application/json"})
    assert answer.status_code == 401
    assert await bot.find(ann.private.id) is None


async def test_request_that_is_too_long_is_refused(bot: Bot, slack: SlackServer) -> None:
    body = "x" * (MOST_BYTES + 1)
    assert (await slack.hooks.post(body, slack.hooks.signed(body))).status_code == 400


async def test_request_while_we_are_away_is_to_come_again(slack: SlackServer, ann: User) -> None:
    hook = Hook()
    async with listening(hook) as url:
        slack.request_url = url
        answer = await slack.hooks.post("{}", slack.hooks.signed("{}"))
        assert answer.status_code == 503
