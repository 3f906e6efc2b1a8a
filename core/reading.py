"""What can be asked of the time machine without changing anything: who may see what, and where things stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnback.core import shapes
from turnback.core.answers import EFFECTS_SHOWN, Listing, Rewound, StepDetail
from turnback.core.errors import AmbiguousStep, Forbidden, InvalidRequest, NotFound, Refusal
from turnback.core.models import (
    ID,
    AccountId,
    Actor,
    AuditEntry,
    Fact,
    Position,
    State,
    Step,
    StepId,
    StepView,
    Thread,
    ThreadId,
    TranscriptRow,
)
from turnback.core.policy import Access, Right, may, who_may
from turnback.core.state import compare as comparing
from turnback.core.state import messages
from turnback.core.steps.store import StepStore, Usage
from turnback.core.threads.ledger import AuditFilter
from turnback.core.threads.store import ThreadStore, ThreadView
from turnback.core.views import Placed, group_by_turn, turn_index_on, turns_on

SHORTEST_REFERENCE = 4
"""Characters of an id that a person must give at least."""

_HEX = re.compile(r"[0-9a-f]+")

JUST_REMOVED = "That step was just removed. /replay list shows what is saved."
NO_THREAD = "There is no such conversation."
"""Said of foreign conversations too, so that nobody learns which exist."""


class Reading:
    """The questions. Each takes who asks, and refuses like every other operation."""

    def __init__(self, threads: ThreadStore, steps: StepStore, access: Callable[[], Access]) -> None:
        self._threads = threads
        self._steps = steps
        self._access = access

    async def thread(self, actor: Actor, thread_id: str, right: Right = Right.READ) -> Thread:
        """A thread, if `actor` may do with it what needs `right`."""
        return (await self.view(actor, thread_id, right)).thread

    async def list_threads(self, actor: Actor, *, everybody: bool = False) -> list[tuple[Thread, Usage | None]]:
        """The actor's threads, newest first (an admin may ask for everybody's), with what their steps use."""
        account = None if everybody and actor.admin else actor.account
        threads = await self._threads.list_threads(account)
        usage = await self._steps.usage([t.id for t in threads])
        return [(t, usage.get(t.id)) for t in threads]

    async def threads(self, actor: Actor, *, everybody: bool = False) -> Sequence[Thread]:
        """The same without their steps, which works also while the step store does not."""
        return await self._threads.list_threads(None if everybody and actor.admin else actor.account)

    async def find_threads(self, actor: Actor, beginning: str, limit: int = 2) -> Sequence[Thread]:
        """The actor's threads whose ids begin like that, by id; two are enough to tell that one is not meant alone."""
        return await self._threads.match_threads(actor.account, beginning, limit)

    async def list_steps(self, actor: Actor, thread_id: str, *, everything: bool = False) -> Listing:
        """The steps on the path; with `everything` also what is set aside, and rescue steps."""
        view = await self.view(actor, thread_id, Right.READ)
        placed = await self.placed(view)
        every = placed.views()
        shown = tuple(s for s in every if everything or s.on_path)
        usage = (await self._steps.usage([view.thread.id])).get(view.thread.id)
        return Listing(
            thread=view.thread,
            turn_index=turn_index_on(view, placed.path),
            head=next((s.step.id for s in every if s.head), None),
            steps=shown,
            turns=group_by_turn(view, placed.path, shown),
            aside=sum(not s.on_path for s in every),
            usage=usage or Usage(steps=0, stored_bytes=0),
            since=min((s.step.created_at for s in every), default=None),
            back=view.returns[-1] if view.returns else None,
        )

    async def resolve(self, actor: Actor, thread_id: str, ref: str) -> StepView:
        """The step that `ref` names: at least 4 characters of its id in any case, or @label."""
        view = await self.view(actor, thread_id, Right.READ)
        step = await self.find_step(view, ref)
        return (await self.placed(view)).view_of(step)

    async def newest(self, actor: Actor, thread_id: str) -> StepView | None:
        """The step where the thread stands."""
        placed = await self.placed(await self.view(actor, thread_id, Right.READ))
        return placed.head_view()

    async def show(self, actor: Actor, thread_id: str, ref: str) -> StepDetail:
        """A step with its state."""
        view = await self.view(actor, thread_id, Right.READ)
        step = await self.find_step(view, ref)
        state = await self.state_of(step)
        placed = await self.placed(view)
        return StepDetail(view=placed.view_of(step), state=state, messages=messages.readable(state))

    async def compare(
        self, actor: Actor, thread_id: str, a: str, b: str | None = None, b_thread_id: str | None = None
    ) -> Mapping[str, Any]:
        """What differs between two steps, or a step and now; the JSON of SPEC's appendix."""
        view_a = await self.view(actor, thread_id, Right.READ)
        view_b = await self.view(actor, b_thread_id, Right.READ) if b_thread_id else view_a
        step_a = await self.find_step(view_a, a)
        step_b = await self.find_step(view_b, b) if b is not None else (await self.placed(view_b)).head
        state_a = await self.state_of(step_a)
        if b is not None and step_b is not None:
            state_b = await self.state_of(step_b)
        else:
            state_b = await self._state_now(view_b)
        return {
            "a": step_a.id,
            "b": step_b.id if b is not None and step_b is not None else None,
            "model": {"a": step_a.model, "b": step_b.model if step_b else None},
            "files": None,
            **comparing.compare(state_a, state_b),
        }

    async def transcript(
        self, actor: Actor, thread_id: str, *, everything: bool = False
    ) -> Sequence[tuple[TranscriptRow, bool]]:
        """The messages as people saw them, each with whether it is set aside."""
        thread = await self.thread(actor, thread_id)
        return await self._threads.transcript(thread.id, everything=everything)

    async def facts(self, actor: Actor, thread_id: str) -> Sequence[Fact]:
        """What the agent was asked to remember here."""
        return await self._threads.facts((await self.thread(actor, thread_id)).id)

    async def audit_trail(
        self,
        actor: Actor,
        thread_id: str | None = None,
        limit: int = 100,
        *,
        wanted: AuditFilter = AuditFilter(),
        before: int | None = None,
    ) -> Sequence[AuditEntry]:
        """Who did what, newest first; for admins, since it outlives threads and their owners."""
        _check_auditor(actor)
        thread = ThreadId(thread_id) if thread_id else None
        return await self._threads.audit_trail(thread_id=thread, wanted=wanted, before=before, limit=limit)

    async def audit_count(self, actor: Actor, wanted: AuditFilter) -> int:
        """How many lines of it are wanted."""
        _check_auditor(actor)
        return await self._threads.audit_count(wanted)

    async def readers(self, thread: Thread) -> frozenset[AccountId]:
        """Who sees what happens in a thread."""
        present = await self._threads.participants(thread.id) if thread.group else ()
        return frozenset({thread.owner, *present})

    async def view(self, actor: Actor, thread_id: str, right: Right) -> ThreadView:
        """A thread with all that decides about its path. Refuses a foreign one like one that is not there."""
        view = await self._threads.view(ThreadId(thread_id)) if ID.fullmatch(thread_id) else None
        if view is None:
            raise NotFound(NO_THREAD)
        thread = view.thread
        participant = thread.group and actor.account in await self._threads.participants(thread.id)
        if not may(actor, thread, participant, Right.READ, self._access()):
            raise NotFound(NO_THREAD)
        if not may(actor, thread, participant, right, self._access()):
            raise Forbidden(f"Only {who_may(right, self._access())} may do that.")
        return view

    async def describe(
        self, view: ThreadView, to: Position, placed: Placed | None = None, *, unchanged: bool = False
    ) -> Rewound:
        """What moving to a position means for the people in the chat."""
        lineage = view.lineage
        old, new = lineage.path(view.thread.head), lineage.path(to)
        before, after = turns_on(view, old), turns_on(view, new)
        effects = [e for e in await self._threads.effects(view.thread.id) if old.covers(e.at) and not new.covers(e.at)]
        effects.sort(key=lambda e: e.at.pos, reverse=True)
        numbers = {t.turn_no for t in after}
        placed = placed or await self.placed_if_possible(view)
        return Rewound(
            thread_id=view.thread.id,
            head=placed.standing_at(to).head_view(),
            turn_index=after[-1].turn_index if after else view.thread.root_turn_index,
            summary=after[-1].summary if after else "",
            turns_set_aside=sum(t.turn_no not in numbers for t in before),
            turns_brought_back=len(numbers - {t.turn_no for t in before}),
            effects=tuple(effects[:EFFECTS_SHOWN]),
            effects_total=len(effects),
            unchanged=unchanged,
        )

    async def _state_now(self, view: ThreadView) -> State:
        """The state where a thread stands; a running turn may have moved its head since the view was read."""
        now: ThreadView | None = view
        while now is not None:
            state = await self._threads.checkpoint(now.thread.id, now.thread.head)
            if state is not None:
                return state
            now = await self._threads.view(view.thread.id)
        raise NotFound(NO_THREAD)

    async def placed(self, view: ThreadView) -> Placed:
        """A thread's steps, placed on its branches."""
        return Placed(view, await self._steps.rows(view.thread.id))

    async def placed_if_possible(self, view: ThreadView) -> Placed:
        """The same; no steps where they cannot be read, since undo, redo and reset do not depend on them."""
        try:
            return await self.placed(view)
        except Refusal:
            return Placed(view, ())

    async def find_step(self, view: ThreadView, ref: str) -> Step:
        """The one step of a thread that `ref` names."""
        name = ref.strip().lower()
        if name.startswith("@"):
            labelled = await self._steps.labelled(view.thread.id, name[1:])
            if labelled is None:
                raise NotFound(f"No step here has the label {name}. /replay list shows the labels.")
            return labelled
        if len(name) < SHORTEST_REFERENCE:
            raise InvalidRequest(
                f"Give at least {SHORTEST_REFERENCE} characters of a step's id; /replay list shows them."
            )
        found = await self._steps.match(view.thread.id, name) if _HEX.fullmatch(name) else ()
        if not found:
            raise NotFound("There is no such step in this chat. /replay list shows what is saved.")
        exact = [s for s in found if s.id == name]
        if len(found) > 1 and not exact:
            placed = await self.placed(view)
            raise AmbiguousStep(shapes.candidates_json([placed.view_of(s) for s in found]))
        return exact[0] if exact else found[0]

    async def state_of(self, step: Step) -> State:
        """A step's state; NotFound if it went in between."""
        state = await self._steps.state(step.thread_id, StepId(step.id))
        if state is None:
            raise NotFound(JUST_REMOVED)
        return state


def _check_auditor(actor: Actor) -> None:
    if not actor.admin:
        raise Forbidden("Only an admin may read the audit trail.")
