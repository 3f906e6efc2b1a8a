"""Steps of an agent in another process: it keeps its own turns, and tells each step with its whole state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnback.core.answers import Recorded
from turnback.core.errors import InvalidRequest
from turnback.core.models import BEGINNING, Actor, CaptureResult, Effect, State, StepId
from turnback.core.policy import TimeTravel
from turnback.core.state.codec import NotEncodable, encode
from turnback.core.state.compare import compare
from turnback.core.state.cost import cost_of, spent_between
from turnback.core.state.prepare import prepare
from turnback.core.steps.recorder import Recorder
from turnback.core.steps.store import StepDraft
from turnback.core.text import one_line
from turnback.core.threads.store import NewTurn, Row, ThreadStore, ThreadView
from turnback.core.views import turn_index_on, turns_on


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the other process says of its step. `turn_index` counts from 1, `iteration` from 0."""

    turn_index: int
    iteration: int
    state: State
    model: str | None = None
    summary: str | None = None


class Recording:
    """Writes such steps down as if the agent ran here."""

    def __init__(
        self,
        threads: ThreadStore,
        recorder: Recorder,
        policy: Callable[[], TimeTravel],
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._threads = threads
        self._recorder = recorder
        self._policy = policy
        self._clock = clock
        self._new_id = new_id

    async def record(self, actor: Actor, view: ThreadView, report: Report) -> Recorded:
        """Save the step; its state becomes the head. InvalidRequest for a turn before the head's."""
        path = view.lineage.path(view.thread.head)
        turns, stands_at = turns_on(view, path), turn_index_on(view, path)
        lowest = max(stands_at, 1)
        if report.turn_index < lowest:
            raise InvalidRequest(f"turn_index: this conversation stands at turn {stands_at}; give {lowest} or more.")
        if report.iteration < 0:
            raise InvalidRequest("iteration: counts from 0.")
        try:
            step = prepare(report.state, self._policy().budgets.max_snapshot_bytes)
            whole = encode(report.state) if step.truncated else step
        except NotEncodable:
            self._recorder.count_failed()
            return Recorded(result=CaptureResult.FAILED.value, id=None)
        before = await self._threads.checkpoint(view.thread.id, view.thread.head) or {}
        new = compare(before, report.state)["only_b"]
        rows = _rows(new)
        said = next((r.text for r in rows if r.role == "user"), "")
        summary = one_line(said if report.summary is None else report.summary, 80)
        now = self._clock()
        turn, at = await self._threads.record_turn(
            view.thread.id,
            NewTurn(text="", summary=summary, actor=actor.account, at=now, turn_index=report.turn_index),
            whole,
            rows,
            same_turn=bool(turns) and turns[-1].turn_index == report.turn_index,
            effects=_effects(new, report),
            spent=spent_between(cost_of(before), cost_of(report.state)),
        )
        draft = StepDraft(
            id=StepId(self._new_id()),
            thread_id=view.thread.id,
            epoch=view.thread.epoch,
            at=at,
            turn_index=turn.turn_index,
            turn_no=turn.turn_no,
            iteration=report.iteration,
            created_at=now,
            model=report.model,
            summary=turn.summary,
            tools=tuple(call["name"] for m in new for call in m["tool_calls"]),
            message_count=step.message_count,
        )
        result = await self._recorder.capture(draft, step)
        saved = result in (CaptureResult.STORED, CaptureResult.TRUNCATED)
        return Recorded(result=result.value, id=draft.id if saved else None)


def _effects(new: Sequence[Mapping[str, Any]], report: Report) -> list[Effect]:
    """Its tool calls; elsewhere nobody declares which are harmless, so all may have done something."""
    number = report.iteration + 1
    return [
        Effect(tool=call["name"], args=call["args"], turn_index=report.turn_index, number=number, at=BEGINNING)
        for message in new
        for call in message["tool_calls"]
    ]


def _rows(new: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What of them people would have seen."""
    return [
        Row(role=message["role"], text=message["text"])
        for message in new
        if message["role"] in ("user", "assistant") and message["text"].strip()
    ]
