"""Gates: approvals that tool calls of a running turn wait for.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from turnback.core import shapes
from turnback.core.errors import ApprovalPending, TurnRunning
from turnback.core.models import AccountId, Gate, GateId, GateStatus, Thread, ThreadId, TurnStatus
from turnback.core.packs.bundle import Bundle
from turnback.core.state.codec import Encoded
from turnback.core.text import well_formed
from turnback.core.threads import values
from turnback.core.threads.checkpoints import Checkpoints
from turnback.core.threads.standing import running_turn
from turnback.core.threads.values import json, micros


def refuse_if_busy(db: sqlite3.Connection, thread: Thread) -> None:
    """Raises ApprovalPending while a gate waits, else TurnRunning while a turn runs."""
    if thread.running_turn is None:
        return
    gates = waiting_gates(db, thread)
    if gates:
        raise ApprovalPending([shapes.gate_json(gate) for gate in gates])
    raise TurnRunning


def waiting_gates(db: sqlite3.Connection, thread: Thread) -> list[Gate]:
    if thread.running_turn is None:
        return []
    return [g for g in gates(db, thread.id, thread.running_turn) if g.status is GateStatus.WAITING]


def gates(db: sqlite3.Connection, thread_id: ThreadId, turn_no: int) -> list[Gate]:
    found = db.execute(
        f"SELECT {values.GATE} FROM gate WHERE thread = ? AND turn_no = ? ORDER BY n, id", (thread_id, turn_no)
    )
    return [values.gate_of(row) for row in found]


def find_gate(db: sqlite3.Connection, gate_id: GateId) -> Gate | None:
    row = db.execute(f"SELECT {values.GATE} FROM gate WHERE id = ?", (gate_id,)).fetchone()
    return None if row is None else values.gate_of(row)


def open_gates(
    db: sqlite3.Connection,
    checkpoints: Checkpoints,
    thread_id: ThreadId,
    turn_no: int,
    opened: Sequence[Gate],
    content: Encoded | None,
) -> None:
    running_turn(db, thread_id, turn_no)
    (n,) = db.execute("SELECT COUNT(*) FROM gate WHERE thread = ? AND turn_no = ?", (thread_id, turn_no)).fetchone()
    db.executemany(
        f"INSERT INTO gate ({values.GATE}, n) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                gate.id,
                thread_id,
                turn_no,
                well_formed(gate.call_id),
                well_formed(gate.tool),
                json(gate.args),
                gate.status,
                micros(gate.created_at),
                micros(gate.expires_at),
                n + i,
            )
            for i, gate in enumerate(opened)
        ],
    )
    held = None if content is None else checkpoints.keep(db, thread_id, content)
    _hold_pending(db, checkpoints, thread_id, turn_no, held)
    db.execute(
        "UPDATE turn SET status = ? WHERE thread = ? AND turn_no = ?", (TurnStatus.APPROVAL_PENDING, thread_id, turn_no)
    )


def find_content(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, turn_no: int) -> Bundle | None:
    """What a waiting turn resumes from."""
    content = _pending(db, thread_id, turn_no)
    return None if content is None else checkpoints.bundle(db, thread_id, content)


def _pending(db: sqlite3.Connection, thread_id: ThreadId, turn_no: int) -> int | None:
    row = db.execute("SELECT content FROM turn WHERE thread = ? AND turn_no = ?", (thread_id, turn_no)).fetchone()
    return None if row is None else row[0]


def decide_gate(
    db: sqlite3.Connection, gate_id: GateId, status: GateStatus, by: AccountId | None, at: datetime
) -> bool:
    decided = db.execute(
        "UPDATE gate SET status = ?, decided_by = ?, decided_at = ? WHERE id = ? AND status = ?",
        (status, by, micros(at), gate_id, GateStatus.WAITING),
    )
    return decided.rowcount == 1


def kill_gates(db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, turn_no: int) -> None:
    db.execute(
        "UPDATE gate SET status = ? WHERE thread = ? AND turn_no = ? AND status = ?",
        (GateStatus.DEAD, thread_id, turn_no, GateStatus.WAITING),
    )
    _hold_pending(db, checkpoints, thread_id, turn_no, None)


def _hold_pending(
    db: sqlite3.Connection, checkpoints: Checkpoints, thread_id: ThreadId, turn_no: int, content: int | None
) -> None:
    old = _pending(db, thread_id, turn_no)
    db.execute("UPDATE turn SET content = ? WHERE thread = ? AND turn_no = ?", (content, thread_id, turn_no))
    if old is not None:
        checkpoints.let_go(db, thread_id, [old])
