"""Making an older copy of turnback.db fit to take the place of the present one.

What was deleted since the copy was made must not come back with it: the tombstones and the audit rows
of the present file are carried over, and what they name is deleted from the copy. A message that waited
then and does not now must not run again, nor must an update that was handled since. Who has left a group
since stays outside, and places have the keys that they have by now. Numbers that the present file has given
out (epochs, positions, turns) are never given out again.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from turnback.core.models import ThreadId
from turnback.core.sqlite import split_statements

_AUDIT = "at, account, actor, surface, action, thread, snapshot, head_before, outcome, code"
_CLAIM = "surface, key, payload, started, created_at"

_CARRY = f"""
INSERT OR IGNORE INTO tombstone SELECT * FROM present.tombstone;
INSERT INTO audit ({_AUDIT}) SELECT {_AUDIT} FROM present.audit
    WHERE at > (SELECT COALESCE(MAX(at), 0) FROM audit) ORDER BY id;
UPDATE thread SET (epoch, next_pos, next_turn, next_branch, next_row) = (
    SELECT MAX(thread.epoch, p.epoch), MAX(thread.next_pos, p.next_pos), MAX(thread.next_turn, p.next_turn),
           MAX(thread.next_branch, p.next_branch), MAX(thread.next_row, p.next_row)
    FROM present.thread p WHERE p.id = thread.id
) WHERE id IN (SELECT id FROM present.thread);
DELETE FROM secret WHERE kind <> 'token' OR digest NOT IN (SELECT digest FROM present.secret);
DELETE FROM waiting WHERE id NOT IN (SELECT id FROM present.waiting);
DELETE FROM claim;
INSERT INTO claim ({_CLAIM}) SELECT {_CLAIM} FROM present.claim;
DELETE FROM heard;
INSERT INTO heard SELECT * FROM present.heard;
INSERT OR REPLACE INTO moved_place SELECT * FROM present.moved_place;
UPDATE OR REPLACE binding AS b SET place = m.new FROM moved_place m WHERE m.surface = b.surface AND m.old = b.place;
UPDATE OR REPLACE participant AS p SET place = m.new FROM moved_place m WHERE m.surface = p.surface AND m.old = p.place;
DELETE FROM participant WHERE thread IN (SELECT id FROM present.thread)
    AND (thread, account) NOT IN (SELECT thread, account FROM present.participant);
DELETE FROM fact WHERE thread || '/' || id IN (SELECT id FROM tombstone);
DELETE FROM note WHERE key LIKE 'cleanup.%';
"""


def carry_over(copy: Path, present: Path) -> tuple[list[ThreadId], dict[ThreadId, int]]:
    """Carry over from `present` to `copy`, both closed by everybody.

    Answers which threads of the copy are tombstoned, to be deleted through the store, and, for each other
    thread, the first position that the copy does not know: steps from there on are newer than it.
    """
    db = sqlite3.connect(copy, isolation_level=None)
    try:
        known = {ThreadId(t): pos for t, pos in db.execute("SELECT id, next_pos FROM thread")}
        if present.exists():
            db.execute("ATTACH ? AS present", (str(present),))
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            for statement in split_statements(_CARRY):
                db.execute(statement)
            db.execute("COMMIT")
            db.execute("DETACH present")
        dead = [ThreadId(t) for (t,) in db.execute("SELECT id FROM thread WHERE id IN (SELECT id FROM tombstone)")]
    finally:
        db.close()
    return dead, {thread: pos for thread, pos in known.items() if thread not in dead}
