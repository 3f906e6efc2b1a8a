"""The web app in this process: an agent with gates and long turns, people, and clients that are signed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from fastapi import FastAPI

from support.world import Clock, Scripted
from turnback.core.agents.protocol import Context
from turnback.core.errors import Forbidden, InvalidRequest
from turnback.core.models import Account, Actor, State, ThreadId
from turnback.core.service import Turnback
from turnback.web.app import create_app
from turnback.web.guard import Site
from turnback.web.parts import SettingField

BASE = "http://127.0.0.1:8765"


class Patient(Scripted):
    """Beside what `Scripted` does: `hold` waits until the test lets go, `ask WHAT` waits at a gate."""

    def __init__(self) -> None:
        self.held = asyncio.Event()
        self.let_go = asyncio.Event()

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        word, _, rest = text.partition(" ")
        if word == "hold":
            self.held.set()
            await self.let_go.wait()
        if word == "ask":
            yield {"type": "gate", "tool": "send_mail", "args": {"to": rest}, "id": "g"}
            approved = (await context.approvals())["g"]
            text = f"{'approved' if approved else 'denied'} {rest}"
        async for event in super().run(state, text, context):
            yield event


class Settings:
    """A settings port of one setting."""

    def __init__(self) -> None:
        self.days = 30

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "key": "time_travel.retention_days",
                "value": self.days,
                "running": self.days,
                "source": "default",
                "default": 30,
                "restart_needed": False,
                "help": "Days that steps are kept.",
            }
        ]

    async def change(self, actor: Actor, changes: Mapping[str, Any]) -> list[dict[str, Any]]:
        if not actor.admin:
            raise Forbidden
        if not changes:
            raise InvalidRequest("Name at least one setting to change.")
        for key, value in changes.items():
            if key != "time_travel.retention_days":
                raise InvalidRequest(f"There is no setting {key[:40]}.")
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 3650:
                raise InvalidRequest(f"{key}: a whole number from 1 to 3650.")
            self.days = value
        return self.rows()

    def fields(self) -> list[SettingField]:
        return []

    def read(self, name: str, text: str) -> str:
        return text

    def problems(self, actor: Actor, changes: Mapping[str, Any]) -> dict[str, str]:
        return {}


async def echo(actor: Actor, thread_id: ThreadId, text: str) -> dict[str, Any]:
    """A dispatch that says what it was told."""
    return {"text": f"{thread_id}: {text}", "buttons": [{"label": "Again", "command": text}], "error": None}


@dataclass
class House:
    """A service, its app, and who lives there."""

    service: Turnback
    app: FastAPI
    agent: Patient
    clock: Clock
    settings: Settings
    ann: Account
    bob: Account
    root: Account
    tokens: dict[str, str] = field(default_factory=dict)

    def client(self, who: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """A client without any sign-in, or with the token of somebody."""
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE, headers=headers, timeout=30)

    async def browser(self, who: str) -> httpx2.AsyncClient:
        """A client with somebody's session cookie."""
        client = self.client()
        session = await self.service.people.create_session(await self.service.people.ensure_account(who))
        client.cookies.set("turnback_session", session)
        return client


async def furnish(service: Turnback, agent: Patient, clock: Clock) -> House:
    """Ann and Bob, Root who is an admin, and a token for each."""
    people = service.people
    ann, bob = await people.ensure_account("ann"), await people.ensure_account("bob")
    root = await people.ensure_account("root", admin=True)
    tokens = {account.name: await people.create_token(account) for account in (ann, bob, root)}
    settings = Settings()
    app = create_app(service, settings=settings, commands=echo, site=Site(host="127.0.0.1", port=8765))
    return House(service, app, agent, clock, settings, ann, bob, root, tokens)
