"""How a thread moves on: turns, steps, going back.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnback.core.errors import StepGone
from turnback.core.lineage import Lineage
from turnback.core.models import Effect, Position, Spent, Thread, ThreadId, Turn, TurnStatus
from turnback.core.state.codec import Encoded
from turnback.core.text import well_formed
from turnback.core.threads import gates, records, removal, standing, transcript, values, waiting
from turnback.core.threads.checkpoints import Checkpoints
from turnback.core.threads.store import Move, NewTurn, Row, Stale, ThreadView
from turnback.core.threads.values import maybe_texts, micros


def view(db: sqlite3.Connection, thread_id: ThreadId) -> ThreadView | None:
    thread = values.find_thread(db, thread_id)
    if thread is None:
        return None
    turns = db.execute(f"SELECT {values.TURN} FROM turn WHERE thread = ? ORDER BY turn_no", (thread_id,))
    return ThreadView(
        thread=thread,
        branches=values.branches(db, thread_id),
        turns=tuple(map(values.turn_of, turns)),
        returns=tuple(standing.returns(db, thread_id)),
        gates=tuple(gates.waiting_gates(db, thread)),
    )


def running(db: sqlite3.Connection) -> list[Turn]:
    found = db.execute(
        f"SELECT {values.TURN} FROM (SELECT id, running_turn FROM thread WHERE running_turn IS NOT NULL) "
        "JOIN turn ON thread = id AND turn_no = running_turn ORDER BY started_at"
    )
    return [values.turn_of(row) for row in found]


def begin_turn(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, new: NewTurn) -> Turn:
    thread = values.get_thread(db, thread_id)
    gates.refuse_if_busy(db, thread)
    if new.waiting is not None:
        waiting.take(db, new.waiting)
    start, turn_no = standing.advance(db, thread), standing.take(db, thread_id, "next_turn")
    turn = Turn(
        thread_id=thread_id,
        turn_no=turn_no,
        turn_index=new.turn_index or 1 + standing.turn_index(db, thread),
        start=start,
        base=thread.head,
        end=start,
        summary=well_formed(new.summary),
        status=TurnStatus.RUNNING,
        actor=new.actor,
        started_at=new.at,
        ended_at=None,
        origin=new.origin,
        files=new.files,
    )
    _insert_turn(db, turn)
    if new.text:
        transcript.add_rows(db, turn, start, [Row(role="user", text=new.text, author=new.actor)], new.at)
    checkpoints.share(db, thread_id, thread.head, start)
    standing.set_returns(db, thread_id, ())
    db.execute("UPDATE thread SET running_turn = ? WHERE id = ?", (turn_no, thread_id))
    standing.stand(db, thread_id, start, new.at)
    return turn


def commit_step(
    db: sqlite3.Connection,
    checkpoints: Checkpoints,
    thread_id: ThreadId,
    turn_no: int,
    content: Encoded,
    effects: Sequence[Effect],
    spent: Spent,
) -> Position:
    row = db.execute(
        "SELECT head_branch, head_pos, next_pos FROM thread WHERE id = ? AND running_turn = ?", (thread_id, turn_no)
    ).fetchone()
    if row is None:
        raise Stale
    branch, before, pos = row
    at = Position(branch, pos)
    checkpoints.step(db, thread_id, Position(branch, before), at, content)
    db.execute(
        "UPDATE thread SET head_pos = ?, next_pos = ?, version = version + 1, tokens = tokens + ?, usd = usd + ? "
        "WHERE id = ?",
        (pos, pos + 1, spent.tokens, spent.usd, thread_id),
    )
    transcript.add_effects(db, thread_id, at, effects)
    return at


def end_turn(
    db: sqlite3.Connection,
    checkpoints: Checkpoints,
    thread_id: ThreadId,
    turn_no: int,
    status: TurnStatus,
    rows: Sequence[Row],
    at: datetime,
    content: Encoded | None,
    spent: Spent,
) -> Turn:
    thread, turn = standing.running_turn(db, thread_id, turn_no)
    head = thread.head
    if rows and head == turn.start:
        head = Position(head.branch, standing.take(db, thread_id, "next_pos"))
        checkpoints.share(db, thread_id, turn.start, head)
        checkpoints.drop(db, thread_id, [turn.start])
    if content is not None:
        checkpoints.put(db, thread_id, head, content)
    transcript.add_rows(db, turn, head, rows, at)
    gates.kill_gates(db, checkpoints, thread_id, turn_no)
    standing.spend(db, thread_id, spent)
    db.execute("UPDATE thread SET running_turn = NULL WHERE id = ?", (thread_id,))
    return _finish(db, checkpoints, turn, head, status, at)


def record_turn(
    db: sqlite3.Connection,
    checkpoints: Checkpoints,
    thread_id: ThreadId,
    new: NewTurn,
    content: Encoded,
    rows: Sequence[Row],
    effects: Sequence[Effect],
    spent: Spent,
    *,
    same_turn: bool,
) -> tuple[Turn, Position]:
    newest = standing.newest_turn(db, values.get_thread(db, thread_id)) if same_turn else None
    if newest is None:
        turn = begin_turn(db, checkpoints, thread_id, new)
        at = commit_step(db, checkpoints, thread_id, turn.turn_no, content, effects, spent)
        return end_turn(db, checkpoints, thread_id, turn.turn_no, TurnStatus.DONE, rows, new.at, None, Spent()), at
    thread = values.get_thread(db, thread_id)
    gates.refuse_if_busy(db, thread)
    at = standing.advance(db, thread)
    checkpoints.put(db, thread_id, at, content)
    transcript.add_rows(db, newest, at, rows, new.at)
    transcript.add_effects(db, thread_id, at, effects)
    standing.spend(db, thread_id, spent)
    standing.set_returns(db, thread_id, ())
    return _finish(db, checkpoints, newest, at, TurnStatus.DONE, new.at), at


def set_turn_status(db: sqlite3.Connection, thread_id: ThreadId, turn_no: int, status: TurnStatus) -> None:
    if status not in (TurnStatus.RUNNING, TurnStatus.APPROVAL_PENDING):
        raise ValueError(f"{status} ends a turn: use end_turn")
    standing.running_turn(db, thread_id, turn_no)
    db.execute("UPDATE turn SET status = ? WHERE thread = ? AND turn_no = ?", (status, thread_id, turn_no))


def move_head(
    db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, version: int, move: Move
) -> Thread:
    thread = values.get_thread(db, thread_id)
    gates.refuse_if_busy(db, thread)
    if thread.version != version:
        raise Stale
    if move.content is not None:
        checkpoints.put(db, thread_id, move.to, move.content)
    elif not checkpoints.has(db, thread_id, move.to):
        raise StepGone
    waiting.drop_all(db, thread_id)
    standing.set_returns(db, thread_id, move.returns)
    if move.discard:
        path = Lineage(values.branches(db, thread_id)).path(move.to)
        removal.remove_unless(db, checkpoints, thread_id, path.covers)
        before = 1 + standing.newest_pos(db, thread_id)
        records.add_follow_up(db, "discard", thread_id, {"to": [move.to.branch, move.to.pos], "before": before})
    records.add_audit(db, move.audit)
    standing.stand(db, thread_id, move.to, move.audit.at)
    return values.get_thread(db, thread_id)


# turns


def _insert_turn(db: sqlite3.Connection, turn: Turn) -> None:
    db.execute(
        f"INSERT INTO turn ({values.TURN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)",
        (
            turn.thread_id,
            turn.turn_no,
            turn.turn_index,
            turn.start.branch,
            turn.start.pos,
            turn.base.branch,
            turn.base.pos,
            turn.end.branch,
            turn.end.pos,
            turn.summary,
            turn.status,
            turn.actor,
            micros(turn.started_at),
            turn.origin,
            maybe_texts(turn.files),
        ),
    )


def _finish(
    db: sqlite3.Connection, checkpoints: Checkpoints, turn: Turn, head: Position, status: TurnStatus, at: datetime
) -> Turn:
    """The turn ends at `head`: brings up to date what nobody asked for while it ran."""
    db.execute(
        "UPDATE turn SET status = ?, ended_at = ?, end_branch = ?, end_pos = ? WHERE thread = ? AND turn_no = ?",
        (status, micros(at), head.branch, head.pos, turn.thread_id, turn.turn_no),
    )
    db.execute(
        "UPDATE branch SET tip = (SELECT next_pos - 1 FROM thread WHERE id = ?1) WHERE thread = ?1 AND branch = ?2",
        (turn.thread_id, head.branch),
    )
    standing.stand(db, turn.thread_id, head, at)
    checkpoints.prune(db, turn.thread_id, standing.path(db, turn.thread_id, head))
    return replace(turn, status=status, ended_at=at, end=head)
