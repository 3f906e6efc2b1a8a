"""Which step a message of ours shows, and which message shows where a chat stands.

Posts tie them together: at its end, a turn's messages are written down with the position in the thread
that they show.
"""

from __future__ import annotations

from dataclasses import dataclass

from turnback.bots.commands import Command, Overview, with_replied_step
from turnback.bots.origins import find_origin
from turnback.bots.places import Place, Places
from turnback.core.errors import InvalidRequest, StepGone
from turnback.core.models import Actor, Position, StepId, ThreadId
from turnback.core.policy import Right
from turnback.core.service import Turnback

ANSWER, NOTE = "answer", "note"
"""The kinds of the posts that show how a turn ended: with what, and further lines."""

REPLY = "reply"
"""The kind of the posts that show no step: replies to commands, and news."""

_ANY = "0" * 32


@dataclass(frozen=True, slots=True)
class Addressing:
    """Finds steps and messages."""

    service: Turnback
    places: Places

    async def replied(self, actor: Actor, place: Place, command: Command, message: str) -> Command:
        """A command that was sent as a reply to a message of ours: without a step, it means that message's.

        Raises StepGone and InvalidRequest where there is none, so that no other step is taken instead.
        """
        if place.key is None or with_replied_step(command, _ANY) == command:
            return command
        post = await self.service.threads.find_post(place.surface, place.key, message)
        if post is None or post.kind not in (ANSWER, NOTE):
            if isinstance(command, Overview):
                return command
            raise InvalidRequest("No step ended with that message. Give one (/replay list), or reply to an answer.")
        if post.thread_id != await self.places.find(place):
            raise InvalidRequest("That message belongs to another chat. /chats shows yours, /switch goes there.")
        step = await self._step_at(actor, post.thread_id, post.at)
        if step is None:
            raise StepGone("The step of that message is no longer kept. /replay list shows what is.")
        return with_replied_step(command, step)

    async def message_of(self, actor: Actor, place: Place, step: StepId) -> str | None:
        """The message at a place where a step shows: the answer that it ended with, else what was asked."""
        thread_id = await self.places.find(place)
        if thread_id is None or place.key is None:
            return None
        listing = await self.service.rewind.list_steps(actor, thread_id, everything=True)
        found = next((view.step for view in listing.steps if view.step.id == step), None)
        if found is None:
            return None
        posts = await self.service.threads.posts(thread_id, place.surface, place.key)
        shown = [post.message for post in posts if post.at == found.at and post.kind == ANSWER]
        return shown[-1] if shown else await self._asked_with(actor, place, thread_id, found.turn_no)

    async def _asked_with(self, actor: Actor, place: Place, thread_id: ThreadId, turn_no: int) -> str | None:
        view = await self.service.rewind.view(actor, thread_id, Right.READ)
        origin = next((find_origin(turn.origin) for turn in view.turns if turn.turn_no == turn_no), None)
        here = origin is not None and (origin.surface, origin.place) == (place.surface, place.key)
        return origin.message if origin and here else None

    async def _step_at(self, actor: Actor, thread_id: ThreadId, at: Position) -> StepId | None:
        listing = await self.service.rewind.list_steps(actor, thread_id, everything=True)
        return next((view.step.id for view in listing.steps if view.step.at == at), None)
