"""A state as it may enter a thread: finished, scrubbed, and without a word of where it came from."""

from __future__ import annotations

from collections.abc import Callable

from turnback.core.errors import StepGone
from turnback.core.models import BEGINNING, Position, State, ThreadId
from turnback.core.packs.bundle import Bundle
from turnback.core.packs.log import load
from turnback.core.state.codec import Encoded, encode
from turnback.core.state.finish import finish
from turnback.core.state.scrub import scrub, without_thread
from turnback.core.threads.store import ThreadStore, ThreadView


class Settler:
    """Settles states. `finish_more` is the agent's own `finish`, if its states need one."""

    def __init__(self, threads: ThreadStore, finish_more: Callable[[State], State] | None = None) -> None:
        self._threads = threads
        self._finish_more = finish_more

    def settled(self, bundle: Bundle, source: ThreadId | None = None) -> Encoded | Bundle:
        """A step's state, ready to enter a thread (with `source`, a fork of that thread).

        It is copied as it lies in the store where settling would change nothing.
        """
        if bundle.clean and self._finish_more is None:
            return bundle
        state = self._settle(load(bundle))
        return encode(without_thread(state, source) if source else state)

    async def kept(self, view: ThreadView, at: Position) -> Encoded | None:
        """The checkpoint at a position; None if it may stay as it is. StepGone if none is kept."""
        if at == BEGINNING:
            return None
        bundle = await self._threads.checkpoint_bundle(view.thread.id, at, here=True)
        if bundle is None:
            raise StepGone
        if bundle.clean and self._finish_more is None:
            return None
        state = load(bundle)
        settled = self._settle(state)
        return None if settled == state else encode(settled)

    def _settle(self, state: State) -> State:
        settled = scrub(finish(state))
        return scrub(self._finish_more(settled)) if self._finish_more else settled
