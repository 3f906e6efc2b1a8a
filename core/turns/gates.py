"""The approvals of one turn: asked for by its agent, answered by people, or by the clock.

The store's word counts, not the memory's: of two people who decide at once, or a person and the clock,
the first to reach the store wins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from turnback.core import shapes
from turnback.core.agents.protocol import Resumable
from turnback.core.models import Gate, GateId, GateStatus, Turn, TurnStatus
from turnback.core.state.codec import Encoded, NotEncodable
from turnback.core.state.prepare import prepare_whole
from turnback.core.turns.values import Parts, Progress, TurnResult, Voice

LOOK_SECONDS = 60.0
"""The wall clock is looked at this often: timers stand still while a machine is suspended."""


class Approvals:
    """The gates of one turn. `denied` is told of each call that was denied.

    `opening` stores the gates that are asked for now. `survives`: the store has gates from which the turn could go
    on after a restart.
    """

    def __init__(
        self, parts: Parts, turn: Turn, progress: Progress, voice: Voice, denied: Callable[[str, Any], None]
    ) -> None:
        self._parts = parts
        self._turn = turn
        self._progress = progress
        self._voice = voice
        self._denied = denied
        self._asked: list[Mapping[str, Any]] = []
        self._content: Encoded | None = None
        self._waiting: dict[GateId, Gate] = {}
        self._woken = asyncio.Event()
        self.opening: asyncio.Task[None] | None = None
        self.survives = False

    def ask(self, event: Mapping[str, Any]) -> None:
        """The agent will wait for this one."""
        self._asked.append({"tool": event["tool"], "args": event.get("args"), "id": event.get("id")})
        self._content = _encoded(event.get("state"))

    async def answers(self) -> Mapping[str, bool]:
        """Open what was asked for, and wait until all of it is answered."""
        asked, self._asked = self._asked, []
        if not asked:
            return {}
        gates = [self._gate(a) for a in asked]
        self.opening = asyncio.create_task(self._open(gates))
        await asyncio.shield(self.opening)
        return await self._answered([g.id for g in gates])

    def rejoin(self, gates: Sequence[Gate]) -> None:
        """After a restart: wait on for those of `gates` that nobody answered."""
        self.survives = True
        self._wait_for([g for g in gates if g.status is GateStatus.WAITING])

    async def rejoined(self, gates: Sequence[Gate]) -> Mapping[str, bool]:
        """The answers to gates that were open before a restart."""
        return await self._answered([g.id for g in gates])

    def decided(self, gate: Gate, by: str = "") -> None:
        """A gate was answered (by whom, if by a person): tell everybody, and let the turn look."""
        self._voice.tell("approval", gate={**shapes.gate_json(gate), "status": gate.status.value, "by": by})
        self._waiting.pop(gate.id, None)
        self._show()
        self._woken.set()

    def look(self) -> None:
        """Look at the store and the clock now."""
        self._woken.set()

    async def _open(self, gates: Sequence[Gate]) -> None:
        """Once begun, this is done whole, even if the turn is stopped or left meanwhile."""
        await self._parts.threads.open_gates(self._turn.thread_id, self._turn.turn_no, gates, self._content)
        self.survives = self._content is not None and isinstance(self._parts.agent, Resumable)
        self._wait_for(gates)
        for gate in gates:
            self._voice.tell("approval", gate=shapes.gate_json(gate))

    def _gate(self, asked: Mapping[str, Any]) -> Gate:
        now = self._parts.clock()
        gate_id = GateId(self._parts.new_id())
        return Gate(
            id=gate_id,
            thread_id=self._turn.thread_id,
            turn_no=self._turn.turn_no,
            call_id=str(asked["id"] or gate_id),
            tool=asked["tool"],
            args=asked["args"],
            status=GateStatus.WAITING,
            created_at=now,
            expires_at=now + timedelta(seconds=self._parts.approval_timeout),
        )

    def _wait_for(self, gates: Sequence[Gate]) -> None:
        self._waiting = {g.id: g for g in gates}
        self._show()

    def _show(self) -> None:
        if not self._waiting:
            self._progress.go_on()
            return
        self._progress.pause(
            TurnResult(
                thread_id=self._turn.thread_id,
                turn_index=self._turn.turn_index,
                status="approval_pending",
                gates=tuple(self._waiting.values()),
            )
        )

    async def _answered(self, ids: Collection[GateId]) -> Mapping[str, bool]:
        while True:
            self._woken.clear()
            gates = [g for g in await self._gates() if g.id in ids]
            waiting = [g for g in gates if g.status is GateStatus.WAITING]
            if not waiting:
                return await self._take(gates)
            first = min(g.expires_at for g in waiting)
            left = (first - self._parts.clock()).total_seconds()
            if left > 0:
                await self._nap(min(left, LOOK_SECONDS))
            else:
                await self._expire(waiting)

    async def _gates(self) -> Sequence[Gate]:
        return await self._parts.threads.gates(self._turn.thread_id, self._turn.turn_no)

    async def _take(self, gates: Sequence[Gate]) -> Mapping[str, bool]:
        """From here on the turn runs: what was approved is done once, even if a restart comes."""
        self.survives = False
        await self._parts.threads.set_turn_status(self._turn.thread_id, self._turn.turn_no, TurnStatus.RUNNING)
        self._waiting = {}
        self._show()
        answers: dict[str, bool] = {}
        for gate in gates:
            approved = gate.status is GateStatus.APPROVED
            answers[gate.call_id] = answers.get(gate.call_id, True) and approved
            if not approved:
                self._denied(gate.tool, gate.args)
        return answers

    async def _expire(self, gates: Sequence[Gate]) -> None:
        now = self._parts.clock()
        for gate in gates:
            late = gate.expires_at <= now
            if late and await self._parts.threads.decide_gate(gate.id, GateStatus.EXPIRED, None, now):
                self.decided(replace(gate, status=GateStatus.EXPIRED))

    async def _nap(self, seconds: float) -> None:
        timer = asyncio.ensure_future(self._parts.sleep(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait({timer, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            woken.cancel()


def _encoded(state: Any) -> Encoded | None:
    if not isinstance(state, dict):
        return None
    try:
        return prepare_whole(state)[0]
    except NotEncodable:
        return None
