"""Saves the steps of one turn: first in turnback.db, which decides, then in steps.db.

Saving never breaks a turn. What cannot be saved is counted by the recorder, the last good checkpoint
stays, and the turn remembers to tell its user once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from turnback.core.models import BEGINNING, CaptureResult, Effect, Spent, State, StepId, Turn
from turnback.core.state import messages
from turnback.core.state.codec import Encoded, NotEncodable
from turnback.core.state.cost import cost_of, spent_between
from turnback.core.state.prepare import prepare_whole, within
from turnback.core.steps.store import StepDraft
from turnback.core.text import well_formed
from turnback.core.threads.store import Stale
from turnback.core.turns.values import Parts

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished step, encoded before anything could change it. `content` is never cut, `step` may be."""

    iteration: int
    model: str | None
    tools: tuple[str, ...]
    content: Encoded | Exception
    step: Encoded | Exception


class Saver:
    """The steps of one turn."""

    def __init__(self, parts: Parts, turn: Turn, *, epoch: int, iteration: int = 0) -> None:
        self._parts = parts
        self._turn = turn
        self._epoch = epoch
        self._iteration = iteration
        self._at = turn.start
        self._seen = 0
        self._cost = Spent()
        self._owed = Spent()
        self._effects: list[Effect] = []
        self._last: Encoded | None = None
        self._denied: list[tuple[str, Any]] = []
        self.unsaved = False

    @property
    def has_steps(self) -> bool:
        """Whether the turn came to a step."""
        return self._iteration > 0

    def begin_from(self, state: State) -> None:
        """What was there before the turn is neither its effect nor its cost."""
        self._seen = len(messages.readable(state))
        self._cost = cost_of(state)

    def deny(self, tool: str, args: Any) -> None:
        """A call that was denied did not run, so it has no effect."""
        self._denied.append((tool, args))

    def finish_step(self, event: Mapping[str, Any]) -> Finished:
        """Take a step event apart; does not wait, so that the agent cannot change its state meanwhile."""
        state: State = event["state"]
        content, step, plain = self._encode(state)
        calls = self._new_calls(plain)
        quiet = frozenset(getattr(self._parts.agent, "quiet_tools", ()))
        number = self._iteration + 1
        self._effects += [
            Effect(tool=c["name"], args=c["args"], turn_index=self._turn.turn_index, number=number, at=BEGINNING)
            for c in calls
            if c["name"] not in quiet and not self._was_denied(c["name"], c["args"])
        ]
        self._spend(state)
        named, model = event.get("tools"), event.get("model")
        tools = named if named is not None else [c["name"] for c in calls]
        finished = Finished(
            iteration=self._iteration,
            model=None if model is None else well_formed(str(model)),
            tools=tuple(well_formed(str(tool)) for tool in tools),
            content=content,
            step=step,
        )
        self._iteration += 1
        return finished

    async def save(self, finished: Finished) -> None:
        """Save a step in both files. Raises only Stale: the turn is over, or its thread is gone."""
        content = await self._commit(finished.content)
        step = content if isinstance(content, Exception) else finished.step
        if await self._parts.recorder.capture(self._draft(finished), step) is CaptureResult.FAILED:
            self.unsaved = True
        thread = await self._parts.threads.find_thread(self._turn.thread_id)
        if thread is None:
            raise Stale
        self._epoch = thread.epoch

    def close(self, state: State) -> Encoded | None:
        """The turn's last state, if it differs from that of its last step and can be encoded."""
        self._spend(state)
        try:
            content, _ = prepare_whole(state)
        except NotEncodable:
            self.unsaved = True
            return None
        return None if content == self._last else content

    @property
    def owed(self) -> Spent:
        """What was spent and not yet written down."""
        return self._owed

    def _encode(self, state: State) -> tuple[Encoded | Exception, Encoded | Exception, State]:
        try:
            content, plain = prepare_whole(state)
            return content, within(content, plain, self._parts.policy().budgets.max_snapshot_bytes), plain
        except NotEncodable as error:
            return error, error, {}

    async def _commit(self, content: Encoded | Exception) -> Encoded | Exception:
        if isinstance(content, Exception):
            return content
        try:
            self._at = await self._parts.threads.commit_step(
                self._turn.thread_id, self._turn.turn_no, content, effects=self._effects, spent=self._owed
            )
        except Stale:
            raise
        except Exception as error:  # noqa: BLE001 - a full disk or a state that the store refuses never breaks a turn
            _log.exception("step not committed", thread=self._turn.thread_id, operation="turn")
            return error
        self._last, self._effects, self._owed = content, [], Spent()
        return content

    def _draft(self, finished: Finished) -> StepDraft:
        return StepDraft(
            id=StepId(self._parts.new_id()),
            thread_id=self._turn.thread_id,
            epoch=self._epoch,
            at=self._at,
            turn_index=self._turn.turn_index,
            turn_no=self._turn.turn_no,
            iteration=finished.iteration,
            created_at=self._parts.clock(),
            model=finished.model,
            summary=self._turn.summary,
            tools=finished.tools,
            message_count=0 if isinstance(finished.step, Exception) else finished.step.message_count,
        )

    def _new_calls(self, state: State) -> Sequence[Mapping[str, Any]]:
        readable = messages.readable(state)
        if not readable:
            return ()
        since = self._seen
        if len(readable) <= since:
            # The agent compacted its messages: only the last request is surely new.
            since = max((i for i, m in enumerate(readable) if m["role"] == "assistant"), default=0)
        self._seen = len(readable)
        return messages.tool_calls(readable, since)

    def _was_denied(self, tool: str, args: Any) -> bool:
        if (tool, args) not in self._denied:
            return False
        self._denied.remove((tool, args))
        return True

    def _spend(self, state: State) -> None:
        now, before = cost_of(state), self._cost
        self._cost = now
        more = spent_between(before, now)
        self._owed = Spent(tokens=self._owed.tokens + more.tokens, usd=self._owed.usd + more.usd)
