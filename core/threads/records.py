"""Claims, the audit trail, settings changed at run time, notes, tombstones, follow-ups.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from turnback.core.models import AuditEntry, Surface, ThreadId
from turnback.core.text import well_formed
from turnback.core.threads.ledger import AuditFilter, Claim
from turnback.core.threads.store import FollowUp
from turnback.core.threads.values import audit_of, json, maybe_micros, micros, of_json, when


def claim(
    db: sqlite3.Connection, surface: Surface, key: str, payload: Mapping[str, Any], at: datetime, place: str | None
) -> bool:
    inserted = db.execute(
        "INSERT OR IGNORE INTO claim (surface, key, payload, started, created_at) VALUES (?, ?, ?, 0, ?)",
        (surface, well_formed(key), json(payload), micros(at)),
    )
    if inserted.rowcount == 1 and place is not None:
        db.execute(
            "INSERT OR REPLACE INTO heard (surface, place, key, at) VALUES (?, ?, ?, ?)",
            (surface, place, well_formed(key), micros(at)),
        )
    return inserted.rowcount == 1


def last_claims(db: sqlite3.Connection, surface: Surface, limit: int) -> list[tuple[str, str]]:
    return db.execute(
        "SELECT place, key FROM heard WHERE surface = ? ORDER BY at DESC, place LIMIT ?", (surface, limit)
    ).fetchall()


def start_claim(db: sqlite3.Connection, surface: Surface, key: str) -> bool:
    started = db.execute(
        "UPDATE claim SET started = 1, payload = ? WHERE surface = ? AND key = ? AND started = 0",
        (json({}), surface, well_formed(key)),
    )
    return started.rowcount == 1


def unstarted_claims(db: sqlite3.Connection) -> list[Claim]:
    found = db.execute(
        "SELECT surface, key, payload, created_at FROM claim WHERE started = 0 ORDER BY created_at, surface, key"
    )
    return [
        Claim(surface=Surface(surface), key=key, payload=of_json(payload), started=False, created_at=when(created_at))
        for surface, key, payload, created_at in found
    ]


def drop_stale(db: sqlite3.Connection, before: datetime) -> int:
    at = (micros(before),)
    dropped = db.execute("DELETE FROM claim WHERE created_at < ?", at).rowcount
    dropped += db.execute("DELETE FROM idempotency WHERE created_at < ?", at).rowcount
    return dropped + db.execute("DELETE FROM secret WHERE expires_at < ?", at).rowcount


def add_audit(db: sqlite3.Connection, entry: AuditEntry) -> None:
    db.execute(
        "INSERT INTO audit (at, account, actor, surface, action, thread, snapshot, head_before, outcome, code) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            micros(entry.at),
            entry.account,
            well_formed(entry.actor),
            entry.surface,
            entry.action,
            entry.thread_id,
            entry.snapshot_id,
            entry.head_before,
            entry.outcome,
            entry.code,
        ),
    )


def audit_trail(
    db: sqlite3.Connection, thread_id: ThreadId | None, wanted: AuditFilter, before: int | None, limit: int
) -> list[AuditEntry]:
    where, given = _wanted(wanted, ("thread = ?", thread_id), ("id < ?", before))
    found = db.execute(
        "SELECT id, at, account, actor, surface, action, thread, snapshot, head_before, outcome, code "
        f"FROM audit WHERE {where} ORDER BY id DESC LIMIT ?",
        (*given, limit),
    )
    return [audit_of(row) for row in found]


def audit_count(db: sqlite3.Connection, wanted: AuditFilter) -> int:
    where, given = _wanted(wanted)
    return int(db.execute(f"SELECT count(*) FROM audit WHERE {where}", given).fetchone()[0])


def settings(db: sqlite3.Connection) -> dict[str, Any]:
    return {key: of_json(value) for key, value in db.execute("SELECT key, value FROM setting ORDER BY key")}


def set_settings(db: sqlite3.Connection, changes: Mapping[str, Any], entry: AuditEntry) -> None:
    for key, value in changes.items():
        if value is None:
            db.execute("DELETE FROM setting WHERE key = ?", (key,))
        else:
            db.execute("INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)", (key, json(value)))
    add_audit(db, entry)


def note(db: sqlite3.Connection, key: str) -> str | None:
    row = db.execute("SELECT value FROM note WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def set_note(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO note (key, value) VALUES (?, ?)", (key, well_formed(value)))


def idempotent(db: sqlite3.Connection, thread_id: ThreadId, key: str) -> Mapping[str, Any] | None:
    row = db.execute(
        "SELECT answer FROM idempotency WHERE thread = ? AND key = ?", (thread_id, well_formed(key))
    ).fetchone()
    return None if row is None else of_json(row[0])


def set_idempotent(
    db: sqlite3.Connection, thread_id: ThreadId, key: str, answer: Mapping[str, Any], at: datetime
) -> None:
    """Nothing is kept for a thread that is gone."""
    db.execute(
        "INSERT OR IGNORE INTO idempotency (thread, key, answer, created_at) "
        "SELECT id, ?, ?, ? FROM thread WHERE id = ?",
        (well_formed(key), json(answer), micros(at), thread_id),
    )


def add_follow_up(db: sqlite3.Connection, kind: str, thread_id: ThreadId, args: Mapping[str, Any]) -> FollowUp:
    added = db.execute(
        "INSERT INTO follow_up (kind, thread, args) VALUES (?, ?, ?) RETURNING id, kind, thread, args",
        (kind, thread_id, json(args)),
    )
    return _follow_up_of(added.fetchone())


def follow_ups(db: sqlite3.Connection, thread_id: ThreadId | None = None) -> list[FollowUp]:
    where, given = ("", ()) if thread_id is None else ("WHERE thread = ?", (thread_id,))
    return [
        _follow_up_of(r) for r in db.execute(f"SELECT id, kind, thread, args FROM follow_up {where} ORDER BY id", given)
    ]


def drop_follow_up(db: sqlite3.Connection, follow_up_id: int) -> None:
    db.execute("DELETE FROM follow_up WHERE id = ?", (follow_up_id,))


def tombstones(db: sqlite3.Connection, ids: Collection[ThreadId] | None) -> frozenset[ThreadId]:
    if ids is None:
        return frozenset(id_ for (id_,) in db.execute("SELECT id FROM tombstone"))
    return frozenset(id_ for id_ in ids if is_tombstone(db, id_))


def is_tombstone(db: sqlite3.Connection, thread_id: ThreadId) -> bool:
    return db.execute("SELECT 1 FROM tombstone WHERE id = ?", (thread_id,)).fetchone() is not None


def add_tombstone(db: sqlite3.Connection, thread_id: ThreadId) -> None:
    db.execute("INSERT OR IGNORE INTO tombstone (id) VALUES (?)", (thread_id,))


def _wanted(wanted: AuditFilter, *more: tuple[str, Any]) -> tuple[str, list[Any]]:
    """A condition on `audit`, and its values."""
    parts: list[tuple[str, Any]] = [
        *more,
        ("surface = ?", wanted.surface),
        ("action = ?", wanted.action),
        ("outcome = ?", wanted.outcome),
        ("at >= ?", maybe_micros(wanted.since)),
        ("at < ?", maybe_micros(wanted.until)),
    ]
    conditions = [condition for condition, value in parts if value is not None]
    given = [value for _, value in parts if value is not None]
    if wanted.actor is not None:
        conditions.append(f"(actor {_LIKE} OR account IN (SELECT id FROM account WHERE folded {_LIKE}))")
        given += [f"%{_literal(wanted.actor)}%", f"%{_literal(wanted.actor.casefold())}%"]
    if wanted.chat is not None:
        conditions.append(f"(thread {_LIKE} OR thread IN (SELECT id FROM thread WHERE title {_LIKE}))")
        given += [f"{_literal(wanted.chat)}%", f"%{_literal(wanted.chat)}%"]
    return " AND ".join(conditions) or "TRUE", given


_LIKE = r"LIKE ? ESCAPE '\'"


def _literal(text: str) -> str:
    """Text as a pattern that means itself."""
    return re.sub(r"[\\%_]", r"\\\g<0>", well_formed(text))


def _follow_up_of(row: Sequence[Any]) -> FollowUp:
    id_, kind, thread, args = row
    return FollowUp(id=id_, kind=kind, thread_id=thread, args=of_json(args))
