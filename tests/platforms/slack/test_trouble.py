"""The simulated Slack's trouble, as the real library meets it: retries, outages, revoked tokens, used up answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from platforms.core import ClientRefused, Json
from platforms.slack.api import Limits
from platforms.slack.echo import client_of, echo_app, listening
from platforms.slack.server import SlackServer
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient


async def test_an_event_comes_again_until_it_is_acknowledged(slack: SlackServer) -> None:
    slack.acknowledge_within(0.5)
    app, heard = AsyncApp(client=client_of(slack), process_before_response=True), []

    async def hang_twice(event: Json) -> None:
        heard.append(event["text"])
        await asyncio.sleep(5 if len(heard) < 3 else 0)

    app.event("message")(hang_twice)
    async with listening(slack, app):
        await slack.user("Ann").say("hello")
        await slack.deliveries.settled()
        assert heard == ["hello"] * 3
        [event] = slack.deliveries.history
        assert (event.acknowledged, event.attempts) == (True, 3)
    assert slack.violations == [
        "events_api: not acknowledged within 0.5 s (attempt 1)",
        "events_api: not acknowledged within 0.5 s (attempt 2)",
    ]


async def test_an_event_comes_four_times_at_most(slack: SlackServer) -> None:
    slack.acknowledge_within(0.05)
    async with listening(slack, AsyncApp(client=client_of(slack))):
        await slack.user("Ann").say("nobody listens for messages")
        [event] = slack.deliveries.history
        await event.failed()
    assert event.attempts == 4
    assert len(slack.violations) == 4


async def test_a_command_that_is_not_acknowledged_fails_once(slack: SlackServer) -> None:
    slack.acknowledge_within(0.1)
    app, heard = AsyncApp(client=client_of(slack)), []

    async def hang(ack: Any, command: Json) -> None:
        heard.append(command["text"])
        await asyncio.sleep(0.3)
        await ack()

    app.command("/replay")(hang)
    async with listening(slack, app):
        command = await slack.user("Ann").command("/replay list")
        assert await command.failed() == "operation_timeout"
    assert heard == ["list"]
    assert command.attempts == 1
    assert slack.violations == ["slash_commands: not acknowledged within 0.1 s (attempt 1)"]


async def test_without_a_connection_a_command_fails_and_an_event_waits(slack: SlackServer) -> None:
    slack.acknowledge_within(0.1)
    ann = slack.user("Ann")
    said = await ann.say("early")
    assert await (await ann.command("/replay list")).failed() == "dispatch_failed"
    slack.acknowledge_within(3)
    async with listening(slack, echo_app(slack)):
        await ann.private.seen("early")
    assert slack.deliveries.events("message")[0]["ts"] == said.ts
    assert slack.violations == []


async def test_the_same_event_comes_again_as_a_retry(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.say("once")
    await ann.private.seen("once")
    first = slack.deliveries.history[0]
    again = slack.redeliver(first)
    await again.answered()
    assert again.payload["event_id"] == first.payload["event_id"]
    assert again.attempts == 2


async def test_the_same_message_comes_under_another_event_id(slack: SlackServer, echo: AsyncApp) -> None:
    said = await slack.user("Ann").say("once")
    again = slack.redeliver(slack.deliveries.history[0], anew=True)
    await again.answered()
    ids = {each.payload["event_id"] for each in slack.deliveries.history if each.payload["event"]["ts"] == said.ts}
    assert len(ids) == 2
    assert again.attempts == 1


async def test_a_refreshed_connection_loses_nothing(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await slack.disconnect("warning")
    await slack.disconnect("refresh_requested")
    await ann.say("meanwhile")
    await ann.private.seen("meanwhile", seconds=10)
    assert slack.sockets.opened >= 2
    assert slack.violations == []


async def test_a_lost_connection_is_opened_anew(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await slack.disconnect("lost")
    await ann.say("meanwhile")
    await ann.private.seen("meanwhile", seconds=10)
    assert slack.violations == []


async def test_an_event_on_a_lost_connection_comes_over_the_next(slack: SlackServer) -> None:
    async with raw_connection(slack) as socket:
        await slack.user("Ann").say("hello")
        first = json.loads((await socket.receive()).data)
    async with raw_connection(slack) as socket:
        second = json.loads((await socket.receive()).data)
        await socket.send_str(json.dumps({"envelope_id": second["envelope_id"]}))
        await slack.deliveries.settled()
    assert (first["retry_attempt"], second["retry_attempt"]) == (0, 1)
    assert first["payload"]["event_id"] == second["payload"]["event_id"]
    assert slack.violations == []


async def test_a_careless_acknowledgement_is_counted(slack: SlackServer) -> None:
    async with raw_connection(slack) as socket:
        await slack.user("Ann").say("hello")
        envelope_id = json.loads((await socket.receive()).data)["envelope_id"]
        await socket.send_str(json.dumps({"envelope_id": envelope_id, "payload": {"text": "hi"}}))
        await socket.send_str(json.dumps({"envelope_id": envelope_id}))
        await socket.send_str(json.dumps({"envelope_id": "made up"}))
        await socket.send_str("what")
        await slack.signal.until(lambda: len(slack.violations) >= 4, lambda: str(slack.violations))
    assert [sentence.partition(": ")[2] for sentence in slack.violations] == [
        "the acknowledgement of an event carries a payload",
        "one envelope was acknowledged twice",
        "a late acknowledgement, or of an unknown envelope",
        "not understood: what",
    ]


async def test_a_url_is_good_for_one_connection(slack: SlackServer, client: AsyncWebClient) -> None:
    url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        first = await session.ws_connect(url)
        assert json.loads((await first.receive()).data)["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)
        await first.close()
    assert "used twice" in slack.violations[0]


async def test_a_bot_outlives_an_outage(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.say("before")
    await ann.private.seen("before")
    await slack.down()
    with pytest.raises(aiohttp.ClientError):
        await client_of(slack).auth_test()
    await ann.say("meanwhile")
    assert await (await ann.command("/replay list")).failed() == "dispatch_failed"
    await slack.up()
    await ann.private.seen("meanwhile", seconds=15)
    assert slack.violations == []


async def test_a_planned_failure_happens_once(slack: SlackServer, client: AsyncWebClient) -> None:
    general = slack.channel("general", [slack.user("Ann")])
    slack.fail_next("chat.postMessage", 503)
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel=general.id, text="first")
    slack.fail_next("chat.*", 200)
    with pytest.raises(SlackApiError, match="internal_error"):
        await client.chat_postMessage(channel=general.id, text="second")
    await client.chat_postMessage(channel=general.id, text="third")
    assert [message.text for message in general.said()] == ["third"]
    assert slack.violations == []


async def test_a_planned_429_says_how_long_to_wait(slack: SlackServer, client: AsyncWebClient) -> None:
    slack.fail_next("auth.test", 429, retry_after=30)
    with pytest.raises(SlackApiError) as refused:
        await client.auth_test()
    assert refused.value.response.headers["Retry-After"] == "30"
    assert slack.violations == []


async def test_an_applied_failure_loses_only_the_answer(slack: SlackServer, client: AsyncWebClient) -> None:
    general = slack.channel("general", [slack.user("Ann")])
    slack.fail_next("chat.postMessage", applied=True, drop=True, times=2)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=general.id, text="sent")
    assert "sent" in {message.text for message in general.said()}


@pytest.mark.parametrize("error", ["token_revoked", "account_inactive", "invalid_auth"])
async def test_a_revoked_token_is_refused_until_it_is_restored(slack: SlackServer, error: str) -> None:
    client, ann = client_of(slack), slack.user("Ann")
    slack.revoke_token(error)
    with pytest.raises(SlackApiError, match=error):
        await client.auth_test()
    slack.restore_token()
    assert (await client.auth_test())["ok"]
    await client.chat_postMessage(channel=ann.id, text="back")
    assert slack.violations == []


async def test_an_app_that_was_removed_is_told_nothing(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    slack.revoke_token("account_inactive")
    await ann.say("anybody?")
    with pytest.raises(ClientRefused, match="not installed"):
        await ann.command("/replay list")
    assert slack.deliveries.history == []


async def test_a_revoked_app_token_opens_no_connection(slack: SlackServer, client: AsyncWebClient) -> None:
    slack.revoke_app_token()
    with pytest.raises(SlackApiError, match="invalid_auth"):
        await client.apps_connections_open(app_token=slack.app_token)
    slack.restore_token()
    assert (await client.apps_connections_open(app_token=slack.app_token))["url"].startswith("ws://127.0.0.1:")


async def test_a_response_url_is_good_for_five_answers(slack: SlackServer) -> None:
    answer = await answering(slack)
    assert [(await answer.send(text=f"part {n}")).status_code for n in range(6)] == [200] * 5 + [404]
    assert slack.violations == ["response_url: used_url"]


async def test_a_response_url_is_good_for_half_an_hour(slack: SlackServer) -> None:
    answer = await answering(slack)
    slack.clock.advance(1801)
    assert (await answer.send(text="late")).status_code == 404
    assert slack.violations == ["response_url: expired_url"]


async def test_a_response_url_answers_publicly_only_when_asked_to(slack: SlackServer) -> None:
    ann = slack.user("Ann")
    command = await ann.command("/replay list")
    answer = AsyncWebhookClient(command.payload["response_url"])
    await answer.send(text="private")
    await answer.send(text="public", response_type="in_channel")
    private, public = ann.private.said()
    assert (private.only_for, public.only_for) == (ann.id, None)


async def test_what_a_response_url_takes_is_checked_like_a_message(slack: SlackServer) -> None:
    answer = await answering(slack)
    assert (await answer.send(text="")).status_code == 400
    await answer.send(text="a < b")
    assert slack.violations == ["response_url: no_text", "response_url: unescaped '<' in 'a < b'"]


async def test_limits_can_be_made_smaller() -> None:
    async with SlackServer(limits=Limits(answer_uses=1)) as slack:
        answer = await answering(slack)
        assert [(await answer.send(text="x")).status_code for _ in range(2)] == [200, 404]


async def answering(slack: SlackServer) -> AsyncWebhookClient:
    """Where a command can be answered."""
    slack.acknowledge_within(0.01)
    command = await slack.user("Ann").command("/replay list")
    return AsyncWebhookClient(command.payload["response_url"])


class raw_connection:  # noqa: N801 - used like a function
    """A connection of Socket Mode without the library, which acknowledges nothing by itself."""

    def __init__(self, slack: SlackServer) -> None:
        self._slack = slack
        self._session = aiohttp.ClientSession()

    async def __aenter__(self) -> aiohttp.ClientWebSocketResponse:
        self._socket = await self._session.ws_connect(self._slack.sockets.open_url())
        assert json.loads((await self._socket.receive()).data)["type"] == "hello"
        return self._socket

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()
        await self._session.close()
