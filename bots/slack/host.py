"""The commands for a Bolt app that you already have.

    register(app, service)

adds `/replay`, `/fork`, `/undo` and `/redo`, the same words behind a mention and as `!replay` in threads, the
shortcuts, and the buttons under their replies; call it before your own listeners, so that they see what is not
ours. Your agent stays yours: begin from `await recorded(service, event)` (None: from nothing), and after each
answer call `await record(service, event, state)`. docs/examples/slack_bot.py is a whole bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp

from turnback.bots.commands import NotACommand, NotForUs
from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch
from turnback.bots.grammar import parse
from turnback.bots.hosting import record_at, recorded_at
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Person
from turnback.bots.presenting import Presenter
from turnback.bots.slack.directory import Directory, Me, who_am_i
from turnback.bots.slack.intake import Intake
from turnback.bots.slack.keys import Spot, place_at, user_key
from turnback.bots.slack.listeners import Listeners
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.pacing import Pacer
from turnback.bots.slack.reading import Heard, Json, hear_message
from turnback.core.answers import Recorded
from turnback.core.models import State, Surface
from turnback.core.service import Turnback

COMMANDS = ("replay", "fork", "undo", "redo")
EVERYBODY = (f"{Surface.SLACK.value}:*",)

_NOBODY = Me(team="", user="", bot="", name="")


class Sent(Protocol):
    """What Slack answers to a message that was sent."""

    def __getitem__(self, name: str, /) -> Any: ...


def register(
    app: AsyncApp,
    service: Turnback,
    *,
    commands: Sequence[str] = COMMANDS,
    allow: Sequence[str] = EVERYBODY,
    admins: Sequence[str] = (),
) -> None:
    """Add the commands to an app. `commands` are the words that we may answer to (declare them in the app's
    manifest); `allow` and `admins` are as in the settings (`access.allow`, `access.admins`).
    """
    guest = _Guest(app, service, PlatformPeople(service, admins=lambda: admins, allow=lambda: allow), commands)
    Listeners(guest.intake).listen(app, commands, [guest.is_ours])


async def record(
    service: Turnback,
    event: Json,
    state: State,
    *,
    step: int = 0,
    model: str | None = None,
    answer: Sent | None = None,
) -> Recorded:
    """Save the state that your agent is in after its answer to `event`, as a step that can be gone back to.

    `state` is a JSON object; its `messages` are what people can read. `step` counts the steps of one turn from
    0, the first of which begins the turn. `answer` is what `say` or `chat_postMessage` answered: the shortcuts
    can then be used on that message.
    """
    spot, user = _spot(event), str(event.get("user"))
    person = Person(surface=Surface.SLACK, user_key=user_key(spot.team, user), name=user)
    said, shown = str(event.get("text") or ""), str(answer["ts"]) if answer is not None else None
    return await record_at(service, place_at(spot), person, said, state, step=step, model=model, answer=shown)


async def recorded(service: Turnback, event: Json) -> State | None:
    """The state that the conversation of `event` stands at: what was recorded last, or gone back to since."""
    return await recorded_at(service, place_at(_spot(event)))


class _Guest:
    """Our part in somebody else's app: no connection, no answers but to our commands."""

    def __init__(self, app: AsyncApp, service: Turnback, people: PlatformPeople, commands: Sequence[str]) -> None:
        self._app = app
        self._service = service
        self._words = frozenset(commands)
        presenter = Presenter(service)
        self._desk = Desk(service, Dispatch(service), people=people, presenter=presenter)
        self._outlet = SlackOutlet(app.client, Pacer())
        self._presenter = presenter
        self._starting = asyncio.Lock()
        self._intake: Intake | None = None
        self._me = _NOBODY

    async def intake(self, _: Json) -> Intake:
        """Our way in, made with the first thing that comes."""
        async with self._starting:
            if self._intake is None:
                me = await self._who()
                directory = Directory(self._app.client, me)
                base = self._app.client.base_url
                self._intake = Intake(self._outlet, self._service.threads, directory, self._desk, api_base_url=base)
                self._presenter.add(self._outlet)
                await self._intake.redo()
        return self._intake

    async def is_ours(self, body: Json) -> bool:
        """Whether a message is one of our commands."""
        heard = hear_message(body, await self._who(), lambda _: False)
        return heard is not None and not heard.doubtful and self._is_command(heard)

    async def _who(self) -> Me:
        if self._me is _NOBODY:
            self._me = await who_am_i(self._app.client)
        return self._me

    def _is_command(self, heard: Heard) -> bool:
        if isinstance(parse(heard.text, bang=True, bare=heard.mentioned), NotACommand | NotForUs):
            return False
        first = heard.text.split(maxsplit=1)[0]
        return first.lstrip("/!").lower() in self._words


def _spot(event: Json) -> Spot:
    """The conversation that a message belongs to; in a channel each has a thread of its own."""
    channel, ts, thread = str(event["channel"]), str(event["ts"]), event.get("thread_ts")
    alone = None if channel.startswith("D") else ts
    return Spot(str(event.get("team") or ""), channel, str(thread) if thread else alone)
