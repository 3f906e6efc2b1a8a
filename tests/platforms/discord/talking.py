"""A bot that says what a test tells it, raw, since the library checks some of it itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import discord
from discord.http import Route
from platforms.core import Json
from platforms.discord.channels import Channel
from platforms.discord.interactions import Interaction
from platforms.discord.people import User
from platforms.discord.server import DiscordServer

QUIET: Json = {"allowed_mentions": {"parse": []}}


@dataclass(frozen=True, kw_only=True)
class Talker:
    """A bot that is only logged in, and people in a channel with it."""

    client: discord.Client
    server: DiscordServer
    ann: User
    general: Channel

    async def call(self, verb: str, path: str, body: Any = None, **more: Any) -> Any:
        return await self.client.http.request(Route(verb, path), **({} if body is None else {"json": body}), **more)

    async def send(self, text: str = "x", channel: Channel | None = None, **more: Any) -> Any:
        return await self.call(
            "POST", f"/channels/{(channel or self.general).id}/messages", {"content": text} | QUIET | more
        )

    async def components(self, *rows: list[Json]) -> Any:
        return await self.send(components=[{"type": 1, "components": row} for row in rows])

    async def command(self, **more: Any) -> Any:
        body = {"name": "replay", "description": "d", "type": 1} | more
        return await self.call("POST", f"/applications/{self.server.scene.app_id}/commands", body)

    async def put(self, commands: list[Json]) -> Any:
        return await self.call("PUT", f"/applications/{self.server.scene.app_id}/commands", commands)

    async def asked(self) -> Interaction:
        """A pressed button."""
        await self.components([button()])
        return await self.ann.press("b", self.general.said()[-1])

    async def answer(self, asked: Interaction, kind: int, **data: Any) -> Any:
        return await self.call("POST", f"/interactions/{asked.id}/{asked.token}/callback", {"type": kind, "data": data})

    async def follow(self, asked: Interaction, **body: Any) -> Any:
        return await self.call("POST", f"/webhooks/{self.server.scene.app_id}/{asked.token}", body or {"content": "x"})


def button(custom_id: str = "a", **more: Any) -> Json:
    return {"type": 2, "style": 2, "label": "b", "custom_id": custom_id} | more


def link(**more: Any) -> Json:
    return {"type": 2, "style": 5, "label": "b", "url": "https://a.example"} | more


def select(count: int = 1, **more: Any) -> Json:
    options = [{"label": f"o{n}", "value": str(n)} for n in range(count)]
    return {"type": 3, "custom_id": "s", "options": options} | more


def option(name: str = "step", kind: int = 3, **more: Any) -> Json:
    return {"name": name, "description": "d", "type": kind} | more


def text_input(**more: Any) -> Json:
    return {"type": 1, "components": [{"type": 4, "style": 1, "custom_id": "i", "label": "Label"} | more]}
