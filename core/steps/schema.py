"""The tables of steps.db: the steps, what may no longer come in, and the packs that hold their states.

fence ── thread's name            pack_thread ── number, name, and by triggers: steps, labelled, bytes
                                    │               (row 0: of all threads)
                                    └─ step ── ref (the state's manifest) ──> pack_loose, pack_blob
"""

from __future__ import annotations

import sqlite3

from turnback.core import packs
from turnback.core.sqlite import Migration

STEPS = """
ALTER TABLE pack_thread ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pack_thread ADD COLUMN labelled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE step (
    seq INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL REFERENCES pack_thread(number),
    id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    iteration INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    model TEXT,
    kind TEXT NOT NULL,
    summary TEXT NOT NULL,
    tools TEXT NOT NULL,
    message_count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL,
    own_bytes INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    label TEXT,
    label_key TEXT,
    workspace TEXT,
    ref BLOB NOT NULL
);
CREATE INDEX step_order ON step(thread, seq, id);
CREATE UNIQUE INDEX step_label ON step(thread, label_key) WHERE label_key IS NOT NULL;
CREATE TABLE fence (thread TEXT PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER step_added AFTER INSERT ON step BEGIN
    UPDATE pack_thread SET steps = steps + 1, bytes = bytes + NEW.own_bytes WHERE number = 0;
    UPDATE pack_thread SET steps = steps + 1, bytes = bytes + NEW.own_bytes WHERE number = NEW.thread;
END;
CREATE TRIGGER step_removed AFTER DELETE ON step WHEN OLD.thread NOT IN (SELECT number FROM pack_leaving) BEGIN
    UPDATE pack_thread SET steps = steps - 1, bytes = bytes - OLD.own_bytes,
        labelled = labelled - (OLD.label_key IS NOT NULL) WHERE number IN (0, OLD.thread);
END;
CREATE TRIGGER step_labelled AFTER UPDATE OF label_key ON step BEGIN
    UPDATE pack_thread SET labelled = labelled + (NEW.label_key IS NOT NULL) - (OLD.label_key IS NOT NULL)
        WHERE number IN (0, NEW.thread);
END;
"""

MIGRATIONS: tuple[Migration, ...] = (packs.SCHEMA + STEPS,)

COLUMNS = {
    "step": "seq thread id epoch branch pos turn_index turn_no iteration created_at model kind summary tools"
    " message_count bytes stored_bytes own_bytes truncated label label_key workspace ref",
    "fence": "thread epoch",
    "pack_thread": "number name bytes steps labelled",
    "pack_loose": "id data",
    "pack_leaving": "number",
    "pack_blob": "id raw level size data",
    "pack_secret": "seed",
}
"""What every table must have, by the newest migration."""


class Misshapen(sqlite3.DatabaseError):
    """The file has the right version, but not its tables and columns."""


def check(db: sqlite3.Connection) -> None:
    """Raises `Misshapen` where a table or a column is missing."""
    for table, columns in COLUMNS.items():
        there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        missing = set(columns.split()) - there
        if missing:
            raise Misshapen(f"{table}: no {', '.join(sorted(missing))}")
