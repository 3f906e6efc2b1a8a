"""What becomes of a turn that the end of the last process left behind: it goes on, or is closed."""

from __future__ import annotations

from collections.abc import Sequence

from turnback.core import shapes
from turnback.core.agents.protocol import Resumable
from turnback.core.models import Actor, Gate, State, Turn, TurnStatus
from turnback.core.threads.store import Row
from turnback.core.turns.running import INTERRUPTED, Begun, Resumed, RunningTurn
from turnback.core.turns.values import Parts, Progress


async def pick_up(parts: Parts, turn: Turn) -> RunningTurn | None:
    """Go on with a turn that waits at gates; close any other as interrupted."""
    content = await _left_content(parts, turn)
    if content is not None:
        return await _rejoin(parts, turn, content)
    await _interrupt(parts, turn)
    return None


async def _left_content(parts: Parts, turn: Turn) -> State | None:
    """What a turn's agent left to go on from; None if the turn cannot."""
    if turn.status is not TurnStatus.APPROVAL_PENDING or not isinstance(parts.agent, Resumable):
        return None
    return await parts.threads.gate_content(turn.thread_id, turn.turn_no)


async def _interrupt(parts: Parts, turn: Turn) -> None:
    """Whoever shows the turn where it was asked hears of its end as of any other's."""
    note = Row(role="note", text=INTERRUPTED)
    ended = await parts.threads.end_turn(turn.thread_id, turn.turn_no, TurnStatus.INTERRUPTED, (note,), parts.clock())
    voice = await parts.voice((await parts.view(turn.thread_id)).thread)
    voice.tell_began(ended)
    for row in await parts.threads.turn_rows(turn.thread_id, turn.turn_no):
        if row.role == "note":
            voice.tell("message", message=shapes.message_json(row))
    voice.tell_ended(ended)


async def _rejoin(parts: Parts, turn: Turn, content: State) -> RunningTurn:
    before = await parts.view(turn.thread_id)
    thread = before.thread
    gates = _newest(await parts.threads.gates(turn.thread_id, turn.turn_no))
    facts = await parts.threads.facts(turn.thread_id)
    learned = sum(fact.turn_no == turn.turn_no and fact.at.pos <= thread.head.pos for fact in facts)
    iteration = thread.head.pos - turn.start.pos - learned  # facts have positions of their own
    resumed = Resumed(state=content, gates=gates, iteration=iteration)
    actor = Actor(account=turn.actor, surface=thread.surface)
    begun = Begun(turn=turn, actor=actor, text="", before=before, resumed=resumed)
    voice = await parts.voice(thread)
    voice.tell_began(turn)
    return RunningTurn(parts, begun, Progress(), voice)


def _newest(gates: Sequence[Gate]) -> tuple[Gate, ...]:
    """The gates that were opened last, together."""
    last = max((g.created_at for g in gates), default=None)
    return tuple(g for g in gates if g.created_at == last)
