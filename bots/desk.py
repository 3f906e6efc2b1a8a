"""The desk: where what people write and press on platforms comes in, and is answered.

What happens at one place happens in the order in which it came in, as far as it touches the chat; saying
the answer is left to the platform's own pace. `/stop` and the answers to approvals wait for nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from turnback.bots import stale
from turnback.bots.addressing import Addressing
from turnback.bots.commands import (
    Answer,
    Command,
    Decide,
    Misused,
    NotACommand,
    NotForUs,
    Parsed,
    Stop,
    Unknown,
)
from turnback.bots.dispatch import Dispatch
from turnback.bots.grammar import parse
from turnback.bots.inbox import take_in
from turnback.bots.offering import offered
from turnback.bots.origins import Origin
from turnback.bots.people import PlatformPeople
from turnback.bots.places import Place
from turnback.bots.platform import Incoming, Left, Message, Press, Said, Unreachable
from turnback.bots.presenting import Presenter
from turnback.bots.replies import Option, Reply
from turnback.core.locks import Locks
from turnback.core.models import Actor
from turnback.core.service import Turnback
from turnback.core.tasks import Tasks
from turnback.core.turns.values import Sent

Asked = Command | Unknown | Misused
_Work = Callable[[Actor], Awaitable[Reply | None]]

QUEUED = "A turn is running; yours comes next."

_log = structlog.get_logger(__name__)


class Desk:
    """Takes every message and press of every platform, which never raises but when cancelled; and who leaves."""

    def __init__(
        self,
        service: Turnback,
        dispatch: Dispatch,
        *,
        people: PlatformPeople,
        presenter: Presenter,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._service = service
        self._dispatch = dispatch
        self._people = people
        self._presenter = presenter
        self._clock = clock
        self._addressing = Addressing(service, dispatch.places)
        self._locks = Locks()
        self._tasks = Tasks()

    async def message(self, m: Message) -> None:
        """Answer a command, or give a message to the agent. Returns when its turn has begun, not when it ends."""
        parsed = parse(m.text, names=m.names, bang=m.bang, bare=m.mentioned)
        if isinstance(parsed, NotForUs) or (not m.addressed and _is_for_others(parsed)):
            return
        if isinstance(parsed, NotACommand):
            await self._attend(m, None, lambda actor: self._hear(actor, m), stranger_told=True)
            return
        told = m.addressed or not m.place.group
        await self._attend(m, parsed, lambda actor: self._obey(actor, m, parsed), stranger_told=told)

    async def press(self, p: Press) -> None:
        """Do what a button stands for."""
        parsed = parse(p.command)
        if isinstance(parsed, NotACommand | NotForUs):
            return
        await self._attend(p, parsed, lambda actor: self._do(actor, p, parsed), stranger_told=True)

    async def left(self, notice: Left) -> None:
        """Somebody is gone from a place: they cannot read what is said there until they speak there again."""
        place = f"{notice.surface.value}:{notice.place}"
        for busy in self._locks.wanted(place):
            async with self._locks.hold(busy):
                pass  # what they said there before comes first
        gone = await self._dispatch.places.leave(notice.surface, notice.place, notice.user_key)
        for thread_id, account in gone:
            self._service.turns.turn_away(thread_id, account)
        if gone:
            self._service.events.publish("threads", {}, readers=frozenset(account for _, account in gone))

    async def offer_steps(self, asker: Incoming, typed: str, most: int) -> Sequence[Option]:
        """Steps to choose from while somebody types; none where they may not. Changes nothing, never raises."""

        async def find() -> Sequence[Option]:
            actor = await self._actor(asker)
            thread_id = await self._dispatch.places.find(asker.place)
            if actor is None or thread_id is None:
                return ()
            listing = await self._service.rewind.list_steps(actor, thread_id, everything=True)
            return offered(listing.steps, typed, self._clock(), most)

        found = await self._dispatch.guarded(asker.place, "offer", find)
        return () if isinstance(found, Reply) else found

    async def _attend(self, incoming: Incoming, asked: Asked | None, work: _Work, *, stranger_told: bool) -> None:
        """Let somebody in if they may come in, do what they want in its turn, and say what comes of it."""
        place = incoming.place
        what = type(asked).__name__ if asked is not None else "message"

        async def serve() -> _Answered | None:
            actor = await self._actor(incoming)
            if actor is None:
                return _Answered(_stranger(incoming)) if stranger_told else None
            await self._dispatch.places.enter(actor, place)
            reply = await work(actor)
            return _Answered(reply, await self._standing(actor, place, reply)) if reply is not None else None

        async with AsyncExitStack() as stack:
            if not isinstance(asked, Stop | Decide):
                await stack.enter_async_context(self._locks.hold(f"{place.surface.value}:{place.key}"))
            answer = await self._dispatch.guarded(place, what, serve)
            if answer is None:
                return
            standing = await self._presenter.standing(place.surface, place.key)
        answered = _Answered(answer) if isinstance(answer, Reply) else answer
        messages = await self._say(incoming, asked, answered)
        self._presenter.answered(standing, messages, moved=answered.reply.moved)

    async def _actor(self, incoming: Incoming) -> Actor | None:
        admin = incoming.place.group and await self._is_admin(incoming)
        return await self._people.actor(incoming.person, place=incoming.place.key, platform_admin=admin)

    async def _is_admin(self, incoming: Incoming) -> bool:
        try:
            return await incoming.is_admin()
        except Exception as error:  # noqa: BLE001 - a platform that cannot be asked gives nobody a right
            _log.warning("platform does not say who is an admin", surface=incoming.place.surface.value, why=str(error))
            return False

    # what is done

    async def _obey(self, actor: Actor, m: Message, asked: Asked) -> Reply:
        """A command that was typed."""
        if isinstance(asked, Command):
            if m.reply_to is not None:
                asked = await self._addressing.replied(actor, m.place, asked, m.reply_to)
            now = self._clock()
            if stale.needs_question(asked, m.at, now, discards=self._dispatch.discards):
                text = stale.question(m.text, m.at, now)
                return await self._dispatch.ask_first(actor, m.place, asked, text, "Do it", "Leave it")
        return await self._do(actor, m, asked)

    async def _do(self, actor: Actor, incoming: Incoming, asked: Asked) -> Reply:
        place = incoming.place
        if isinstance(asked, Stop) and place.key is not None:
            thread_id = await self._dispatch.places.find(place)
            if thread_id is not None:
                self._presenter.told_of_stop(thread_id, place.surface, place.key)
        return await self._dispatch.dispatch(actor, place, asked, beside=_Beside(self._presenter, place))

    async def _hear(self, actor: Actor, m: Message) -> Reply | None:
        """Words for the agent."""
        thread_id = await self._dispatch.places.open(actor, m.place)
        files, lines = await take_in(m.files, self._service.turns.workspace(thread_id))
        if m.text.strip() or files or not m.files:
            origin = Origin(m.place.surface, m.place.key or "", m.id)
            sent = await self._service.turns.send(actor, thread_id, m.text, origin=str(origin), files=files)
            if sent.status == "queued":
                if not sent.behind_own:  # else they were told so
                    lines.append(QUEUED)
                self._tasks.start(self._watch(origin, sent))
        return Reply(text="\n".join(lines)) if lines else None

    async def _watch(self, origin: Origin, sent: Sent) -> None:
        """See to it that a message that waits is not lost without a word."""
        result = await self._service.turns.wait(sent)
        if result.turn_index is None:
            await self._presenter.tell_returned(origin, result.status, result.reply)

    # what is said

    async def _standing(self, actor: Actor, place: Place, reply: Reply) -> str | None:
        """The message that a reply is a reply to: the one where the chat now stands."""
        step = reply.stands_at
        if step is None:
            return None
        found = await self._dispatch.guarded(place, "standing", lambda: self._addressing.message_of(actor, place, step))
        return None if isinstance(found, Reply) else found  # what was asked for is done, with or without it

    async def _say(self, incoming: Incoming, asked: Asked | None, answer: _Answered) -> Sequence[str]:
        """Answer; gives the messages that everybody at the place sees."""
        reply = answer.reply
        if isinstance(incoming, Press):
            shown = await self._shown_in_place(incoming, asked, reply)
            if shown is not None:
                return shown
        said = Said(text=reply.text, buttons=reply.buttons, select=reply.select, reply_to=answer.reply_to)
        try:
            return await incoming.back(said, private=reply.private)
        except Unreachable as error:
            _log.warning("place cannot be reached", surface=incoming.place.surface.value, why=str(error))
        except Exception:  # noqa: BLE001 - what was asked for is done; the adapter must go on
            _log.exception("cannot be answered", surface=incoming.place.surface.value)
        return ()

    async def _shown_in_place(self, press: Press, asked: Asked | None, reply: Reply) -> Sequence[str] | None:
        """Show a reply in the message that was pressed; None if it is still to be said."""
        if isinstance(asked, Decide) and reply.error is None:
            return ()  # by the approval's card
        if press.message is None or press.place.key is None or (reply.private and press.place.group):
            return None
        surface, key = press.place.surface, press.place.key
        if reply.replaces:
            said = Said(text=reply.text, buttons=reply.buttons, select=reply.select)
            return await self._presenter.change(surface, key, press.message, said)
        if isinstance(asked, Answer) and reply.error is None:
            await self._presenter.change(surface, key, press.message, Said(text="Done."))
        return None


@dataclass(frozen=True, slots=True)
class _Answered:
    reply: Reply
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class _Beside:
    """Opens places beside one, for `/fork STEP here`."""

    presenter: Presenter
    place: Place

    async def __call__(self, title: str, first: str) -> Place | None:
        if self.place.key is None:
            return None
        key = await self.presenter.open_beside(self.place.surface, self.place.key, title)
        if key is None:
            return None
        await self.presenter.say(self.place.surface, key, Said(text=first))
        return replace(self.place, key=key)


def _is_for_others(parsed: Parsed) -> bool:
    """In a group: talk among people, and commands that may well be another bot's."""
    return isinstance(parsed, NotACommand) or (isinstance(parsed, Unknown) and parsed.word.startswith("/"))


def _stranger(incoming: Incoming) -> Reply:
    return Reply(
        text=f"You may not use this bot yet. Give its admin this name to let you in: {incoming.person.identity}"
    )
