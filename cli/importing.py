"""Recording conversations from elsewhere through the HTTP API, as if their agents reported them now.

A thread's branches are made anew by going back to each step's parent before it is recorded. States
are scrubbed on their way in. What was deleted here once is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from turnback.cli.api import Api, ApiFailed, connect
from turnback.cli.options import folder
from turnback.config import Loaded
from turnback.core.folder import THREADS_FILE
from turnback.core.models import Action, Outcome, ThreadId
from turnback.core.state.scrub import scrub, without_thread
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.transfer import Conversation, Saved

DELETED = "they were deleted here"
TRUNCATED = "they were saved with parts cut"
UNFIT = "they could not be placed"

FOR_EVER = datetime.max.replace(tzinfo=UTC)

_DELETING = (Action.CLEAR, Action.FORGET, Action.DELETE)


async def import_conversations(loaded: Loaded, conversations: Sequence[Conversation], account: str) -> dict[str, Any]:
    """Record all; answers the new threads and how many steps were left out, by reason."""
    buried = await _buried(loaded, [ThreadId(c.original) for c in conversations if c.original])
    done: dict[str, Any] = {"threads": [], "left_out": {DELETED: 0, TRUNCATED: 0, UNFIT: 0}}
    async with connect(loaded, account) as api:
        for conversation in conversations:
            steps = _wanted(conversation, buried, done["left_out"])
            if steps:
                done["threads"].append(await _Import(api, conversation, done["left_out"]).run(steps))
    return done


async def _buried(loaded: Loaded, threads: Sequence[ThreadId]) -> dict[str, datetime]:
    """Threads of which something was deleted, and until when; a deleted thread is deleted for ever."""
    file = folder(loaded) / THREADS_FILE
    if not threads or not file.exists():
        return {}
    store = await SqliteThreadStore.open(file)
    try:
        buried: dict[str, datetime] = {}
        for thread_id in threads:
            for entry in await store.audit_trail(thread_id=thread_id, limit=100_000):
                if entry.action in _DELETING and entry.outcome is Outcome.DONE:
                    buried[thread_id] = entry.at
                    break
        return buried | dict.fromkeys(await store.tombstones(threads), FOR_EVER)
    finally:
        await store.close()


def _wanted(conversation: Conversation, buried: dict[str, datetime], left_out: dict[str, int]) -> list[Saved]:
    """The steps that may come in. A clear or a forget took all that had been saved by then."""
    kept = []
    for step in conversation.steps:
        until = buried.get(conversation.original or "")
        if until and step.saved_at and step.saved_at <= until:
            left_out[DELETED] += 1
        elif step.truncated:
            left_out[TRUNCATED] += 1
        else:
            kept.append(step)
    return kept


class _Import:
    """One conversation on its way in."""

    def __init__(self, api: Api, conversation: Conversation, left_out: dict[str, int]) -> None:
        self._api = api
        self._conversation = conversation
        self._left_out = left_out
        self._thread = ""
        self._made: dict[str | None, str] = {}
        self._parents = {step.original: step.parent for step in conversation.steps}
        self._at: str | None = None

    async def run(self, steps: Sequence[Saved]) -> dict[str, Any]:
        """Make the thread; answers it."""
        self._thread = (await self._api.post("/api/threads", {"title": self._conversation.title}))["thread_id"]
        count = 0
        for step in steps:
            if await self._record(step):
                count += 1
            else:
                self._left_out[UNFIT] += 1
        head = next((self._made[s.original] for s in steps if s.head and s.original in self._made), None)
        if head:
            await self._go_to(head)
        return {"thread_id": self._thread, "title": self._conversation.title, "steps": count}

    async def _record(self, step: Saved) -> bool:
        state = scrub(step.state)
        if self._conversation.original:
            state = without_thread(state, ThreadId(self._conversation.original))
        body = {"turn_index": step.turn_index, "iteration": step.iteration, "state": state}
        body |= {key: value for key, value in (("model", step.model), ("summary", step.summary)) if value}
        try:
            if step.original is not None:
                await self._go_to(self._made.get(self._ancestor(step)))
            recorded = await self._api.post(f"/api/replay/snapshots/{self._thread}", body)
        except ApiFailed as problem:
            if problem.problem.get("code") not in ("invalid_request", "not_found", "snapshot_truncated"):
                raise
            return False
        if recorded["id"] is None:
            return False
        self._made[step.original] = self._at = recorded["id"]
        if step.label:
            await self._api.patch(f"/api/replay/snapshots/{self._thread}/{recorded['id']}", {"label": step.label})
        return True

    def _ancestor(self, step: Saved) -> str | None:
        """The nearest ancestor that came in."""
        parent = step.parent
        while parent is not None and parent not in self._made:
            parent = self._parents.get(parent)
        return parent

    async def _go_to(self, step: str | None) -> None:
        if step == self._at:
            return
        if step is None:
            await self._api.post(f"/api/threads/{self._thread}/reset")
        else:
            await self._api.post("/api/replay/restore", {"thread_id": self._thread, "snapshot_id": step})
        self._at = step
