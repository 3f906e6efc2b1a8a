"""The simulated Slack telling the real library over HTTP: signatures, retries, acknowledgements."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvicorn
from platforms.slack.echo import client_of, echo_app
from platforms.slack.hooks import FORM_TYPE
from platforms.slack.server import SlackServer
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


@pytest.fixture
async def hook(slack: SlackServer) -> AsyncIterator[None]:
    """The echoing bot behind a request URL."""
    async with serving(slack, echo_app(slack, signing_secret=slack.signing_secret)):
        yield


@pytest.mark.usefixtures("hook")
async def test_the_url_is_verified(slack: SlackServer) -> None:
    assert await slack.verify_url()


@pytest.mark.usefixtures("hook")
async def test_people_are_answered_over_http(slack: SlackServer) -> None:
    ann = slack.user("Ann")
    await ann.say("hello & goodbye")
    await ann.private.seen("hello & goodbye")
    await (await ann.command("/replay list")).answered()
    shown = await ann.private.seen("page 1")
    await ann.press("Next", shown)
    await ann.private.seen("page 2")
    await ann.command("/fork")
    assert (await ann.submit({"name": "taken"})).answer == {
        "response_action": "errors",
        "errors": {"label": "That name is taken."},
    }
    await ann.submit({"name": "good"})
    await ann.private.seen("named good")
    assert slack.sockets.opened == 0
    assert slack.violations == []


@pytest.mark.usefixtures("hook")
@pytest.mark.parametrize("forgery", [{"secret": "wrong"}, {"age": 301}])
async def test_a_forged_or_old_signature_is_refused(slack: SlackServer, forgery: dict[str, Any]) -> None:
    body = "command=%2Freplay&text=list"
    signed = slack.hooks.signed(body, **forgery) | {"Content-Type": FORM_TYPE}
    assert (await slack.hooks.post(body, signed)).status_code == 401


async def test_an_event_that_fails_comes_again_with_its_number(slack: SlackServer) -> None:
    taken: list[tuple[str | None, str | None, str]] = []

    def answer(headers: Any, body: str) -> Response:
        event_id = json.loads(body)["event_id"]
        taken.append((headers.get("x-slack-retry-num"), headers.get("x-slack-retry-reason"), event_id))
        return PlainTextResponse("", 500 if len(taken) < 3 else 200)

    async with receiving(slack, answer):
        await slack.user("Ann").say("hello")
        await slack.deliveries.settled()
    assert [number for number, _, _ in taken] == [None, "1", "2"]
    assert [reason for _, reason, _ in taken] == [None, "http_error", "http_error"]
    assert len({event_id for _, _, event_id in taken}) == 1
    assert slack.violations == [f"events_api: answered with 500 (attempt {n})" for n in (1, 2)]


async def test_an_event_is_not_sent_again_where_the_app_says_so(slack: SlackServer) -> None:
    async with receiving(slack, lambda *_: PlainTextResponse("", 500, {"X-Slack-No-Retry": "1"})):
        await slack.user("Ann").say("hello")
        await slack.deliveries.settled()
    assert slack.deliveries.history[0].attempts == 1


async def test_a_slow_app_breaks_the_deadline(slack: SlackServer) -> None:
    slack.acknowledge_within(0.1)
    app = AsyncApp(client=client_of(slack), signing_secret=slack.signing_secret)

    async def hang(ack: Any) -> None:
        await asyncio.sleep(0.3)
        await ack()

    app.command("/replay")(hang)
    async with serving(slack, app):
        assert await (await slack.user("Ann").command("/replay list")).failed() == "operation_timeout"
    assert slack.violations == ["slash_commands: not acknowledged within 0.1 s (attempt 1)"]


async def test_an_app_that_is_away_is_told_later(slack: SlackServer) -> None:
    slack.deliveries.retry_wait = 0.3
    ann = slack.user("Ann")
    listening = socket.create_server(("127.0.0.1", 0))
    slack.request_url = f"http://127.0.0.1:{listening.getsockname()[1]}/hooks/slack"
    port = listening.getsockname()[1]
    listening.close()
    await ann.say("meanwhile")
    assert await (await ann.command("/replay list")).failed() == "dispatch_failed"
    async with serving(slack, echo_app(slack, signing_secret=slack.signing_secret), port):
        await ann.private.seen("meanwhile")
    assert slack.violations == []


async def test_an_acknowledgement_may_answer_a_command(slack: SlackServer) -> None:
    async with receiving(slack, lambda *_: PlainTextResponse("working")):
        command = await (ann := slack.user("Ann")).command("/replay list")
        assert await command.answered() == {"text": "working"}
    [shown] = ann.private.said()
    assert (shown.text, shown.only_for) == ("working", ann.id)


def serving(slack: SlackServer, app: AsyncApp, port: int = 0) -> contextlib.AbstractAsyncContextManager[None]:
    handler = AsyncSlackRequestHandler(app)
    return _listening(slack, Route("/hooks/slack", handler.handle, methods=["POST"]), port)


def receiving(
    slack: SlackServer, answer: Callable[[Any, str], Response]
) -> contextlib.AbstractAsyncContextManager[None]:
    """A request URL without the library."""

    async def take(request: Request) -> Response:
        return answer(request.headers, (await request.body()).decode())

    return _listening(slack, Route("/hooks/slack", take, methods=["POST"]))


@contextlib.asynccontextmanager
async def _listening(slack: SlackServer, route: Route, port: int = 0) -> AsyncIterator[None]:
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(Starlette(routes=[route]), log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve([listening]))
    slack.request_url = f"http://127.0.0.1:{listening.getsockname()[1]}/hooks/slack"
    yield
    server.should_exit = server.force_exit = True
    await running
