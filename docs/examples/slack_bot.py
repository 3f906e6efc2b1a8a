"""A bot of your own that gains `/replay`, `/fork`, `/undo` and `/redo`: run it with BOT_TOKEN and APP_TOKEN set."""

import asyncio
import os
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncSay
from slack_sdk.web.async_client import AsyncWebClient

from turnback.bots.slack import record, recorded, register
from turnback.core import open_service


async def main() -> None:
    client = AsyncWebClient(os.environ["BOT_TOKEN"], base_url=os.getenv("API", "https://slack.com/api/"))
    app, in_turn = AsyncApp(client=client), asyncio.Lock()  # Bolt runs listeners side by side
    async with open_service("data") as service:
        register(app, service)  # before your own listeners, so that they see what is not ours

        @app.event("message")
        async def chat(event: dict[str, Any], say: AsyncSay) -> None:
            if event.get("subtype") or event.get("bot_id"):
                return
            async with in_turn:
                state = await recorded(service, event) or {"messages": []}  # where this conversation stands
                state["messages"].append({"role": "user", "content": event["text"]})
                answer = f"{(len(state['messages']) + 1) // 2}. {event['text']}"
                state["messages"].append({"role": "assistant", "content": answer})
                sent = await say(text=answer, thread_ts=event.get("thread_ts"))
                await record(service, event, state, answer=sent)  # from now on people can come back here

        await AsyncSocketModeHandler(app, os.environ["APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
