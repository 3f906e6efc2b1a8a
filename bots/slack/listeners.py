"""What we listen to in a Bolt app. Slack wants an answer within 3 seconds, so it gets one at once.

Everything is begun in the order in which it comes, which takes no time, and then acknowledged. Commands and
presses come but once, so nothing may hold up their acknowledgement. Events come again until they are
acknowledged, so it waits a moment for their claim.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from turnback.bots.slack.buttons import OURS
from turnback.bots.slack.intake import Intake
from turnback.bots.slack.reading import FORM, LEFT, SHORTCUTS, Json, Kind
from turnback.core.models import Surface

CLAIM_SECONDS = 0.2
"""How long the claim of an event may hold up its acknowledgement."""

EVENTS = ("message", "app_mention")
ASSISTANT = "assistant_thread_started"

_log = structlog.get_logger(__name__)

_ANYTHING = re.compile(".*", re.DOTALL)

FindIntake = Callable[[Json], Awaitable[Intake]]
Matcher = Callable[..., Awaitable[bool]]


class Listeners:
    """The functions that Bolt calls."""

    def __init__(self, intake: FindIntake) -> None:
        self._intake = intake

    def listen(
        self, app: AsyncApp, commands: Sequence[str], matchers: Sequence[Callable[..., Awaitable[bool]]]
    ) -> None:
        """Listen to our commands, buttons, shortcuts and forms, and to the messages that the matchers let through."""
        for event in EVENTS:
            app.event(event, matchers=list(matchers), middleware=[self.claim])(nothing)
        for command in commands:
            app.command(f"/{command}", middleware=[self.command])(acknowledge)
        app.action(re.compile(f"^{re.escape(OURS)}"), middleware=[self.interaction])(acknowledge)
        for shortcut in SHORTCUTS:
            app.message_shortcut(shortcut, middleware=[self.interaction])(acknowledge)
        app.view(FORM, middleware=[self.interaction])(acknowledge)

    def listen_to_leaving(self, app: AsyncApp) -> None:
        """Listen to who is no more in a channel."""
        for event in LEFT:
            app.event(event, middleware=[self.claim])(nothing)

    async def claim(self, body: dict[str, Any], next_: Callable[[], Awaitable[Any]]) -> None:
        """An event."""
        claiming = await self._begin("event", body)
        if claiming is not None:
            await asyncio.wait({claiming}, timeout=CLAIM_SECONDS)
        await next_()

    async def command(self, ack: Callable[[], Awaitable[BoltResponse]], body: dict[str, Any]) -> BoltResponse:
        """A slash command."""
        await self._begin("command", body)
        return await ack()

    async def interaction(self, ack: Callable[[], Awaitable[BoltResponse]], body: dict[str, Any]) -> BoltResponse:
        """A press, a choice, a shortcut, a form."""
        await self._begin("interaction", body)
        return await ack()

    async def assistant(self, body: dict[str, Any]) -> None:
        """An assistant's thread was opened; nothing is to be done until somebody writes in it."""
        (await self._intake(body)).note_assistant(body)

    async def _begin(self, kind: Kind, body: dict[str, Any]) -> asyncio.Task[bool] | None:
        try:
            return (await self._intake(body)).take(kind, body)
        except Exception:  # noqa: BLE001 - whatever is wrong with it: without an answer, people see an error
            _log.exception("update failed", surface=Surface.SLACK.value)
            return None


def ignore_the_rest(app: AsyncApp) -> None:
    """Acknowledge what nobody listens to: Slack would send it again and again."""
    app.event(_ANYTHING)(nothing)
    app.action(_ANYTHING)(acknowledge)
    app.shortcut(_ANYTHING)(acknowledge)
    app.command(_ANYTHING)(acknowledge)
    app.view(_ANYTHING)(acknowledge)


async def nothing() -> None:
    """Do nothing; Bolt has acknowledged the event."""


async def acknowledge(ack: Callable[[], Awaitable[Any]]) -> None:
    """Do nothing else."""
    await ack()
