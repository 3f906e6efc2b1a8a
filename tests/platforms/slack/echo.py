"""A bot on the real library, for tests of the simulated Slack: it repeats what it is told."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

from platforms.core import Json
from platforms.slack.server import SlackServer
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

PING_SECONDS = 0.5
"""How often the library looks after its connection; every 10 s would be long in a test."""


def client_of(slack: SlackServer) -> AsyncWebClient:
    return AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)


@contextlib.asynccontextmanager
async def listening(slack: SlackServer, app: AsyncApp, *, proxy: str | None = None) -> AsyncIterator[AsyncApp]:
    """The app connected by Socket Mode."""
    handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=PING_SECONDS, proxy=proxy)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        yield app
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


def echo_app(slack: SlackServer, client: AsyncWebClient | None = None, **more: Any) -> AsyncApp:
    """It answers everything, with a button, a menu, a modal and a shortcut; `more` is for AsyncApp."""
    app = AsyncApp(client=client or client_of(slack), **more)
    app.event("app_mention")(_nothing)
    app.event("message")(_repeat)
    app.event("assistant_thread_started")(_greet)
    app.command("/replay")(_list)
    app.command("/fork")(_ask)
    app.action("next")(_turned)
    app.action("choose")(_chosen)
    app.shortcut("rewind")(_rewound)
    app.view("ask")(_named)
    app.event(re.compile("."))(_nothing)
    return app


async def _nothing() -> None:
    """What no listener takes the library does not acknowledge, so that Slack sends it again and again."""


async def _repeat(event: Json, client: AsyncWebClient) -> None:
    changed = event.get("subtype") == "message_changed"
    message = event["message"] if changed else event
    if "bot_id" in message or event.get("subtype") == "message_deleted":
        return
    text = f"<@{message['user']}>: {message['text'] or 'something'}{' (edited)' if changed else ''}"
    await client.chat_postMessage(channel=event["channel"], thread_ts=message.get("thread_ts"), text=text)


async def _greet(event: Json, client: AsyncWebClient) -> None:
    thread = event["assistant_thread"]
    place = {"channel_id": thread["channel_id"], "thread_ts": thread["thread_ts"]}
    await client.assistant_threads_setStatus(**place, status="is thinking")
    await client.chat_postMessage(channel=thread["channel_id"], thread_ts=thread["thread_ts"], text="hello")


async def _list(ack: Any, command: Json, respond: Any) -> None:
    await ack()
    await respond(text=f"page 1 of {command['text']}", blocks=page("1"))


async def _ask(ack: Any, command: Json, client: AsyncWebClient) -> None:
    await ack()
    await client.views_open(trigger_id=command["trigger_id"], view=modal(command["channel_id"]))


async def _turned(ack: Any, action: Json, respond: Any) -> None:
    await ack()
    await respond(text=f"page {action['value']}", replace_original=True)


async def _chosen(ack: Any, action: Json, respond: Any) -> None:
    await ack()
    await respond(text=f"chose {action['selected_option']['value']}", replace_original=False)


async def _rewound(ack: Any, shortcut: Json, client: AsyncWebClient) -> None:
    await ack()
    where = {"channel": shortcut["channel"]["id"], "user": shortcut["user"]["id"]}
    await client.chat_postEphemeral(**where, text=f"rewound to {shortcut['message']['text']}")


async def _named(ack: Any, view: Json, client: AsyncWebClient) -> None:
    name = view["state"]["values"]["label"]["name"]["value"]
    if name == "taken":
        await ack(response_action="errors", errors={"label": "That name is taken."})
        return
    await ack()
    await client.chat_postMessage(channel=view["private_metadata"], text=f"named {name}")


def page(number: str) -> list[Json]:
    option = {"text": {"type": "plain_text", "text": "Turn 2"}, "value": "t2"}
    next_ = {"type": "button", "action_id": "next", "value": "2", "text": {"type": "plain_text", "text": "Next"}}
    choose = {"type": "static_select", "action_id": "choose", "options": [option]}
    return [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*page {number}*"}},
        {"type": "actions", "elements": [next_, choose]},
    ]


def modal(metadata: str) -> Json:
    field = {"type": "plain_text_input", "action_id": "name", "max_length": 20}
    return {
        "type": "modal",
        "callback_id": "ask",
        "private_metadata": metadata,
        "title": {"type": "plain_text", "text": "Label"},
        "submit": {"type": "plain_text", "text": "Save"},
        "blocks": [
            {"type": "input", "block_id": "label", "label": {"type": "plain_text", "text": "Name"}, "element": field}
        ],
    }
