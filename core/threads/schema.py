"""The tables of turnback.db, version by version.

Keys begin with the thread. Times are microseconds since 1970, UTC. A position is a pair of columns,
`branch` and `pos`; `head_…`, `left_…` and so on where there are several. JSON lies in BLOBs, since it
may hold lone surrogates, which SQLite's text cannot.

    thread ─┬─ branch, return_ (the redo chain)        where it stands
            ├─ turn ─┬─ row_ (the transcript), fact, effect, gate
            │        └─ checkpoint ── content ── pack_* (see packs)
            └─ participant, binding, post, idempotency, waiting (messages)

`branch.tip` and `turn.end_…` are the newest positions used; they are brought up to date when a turn
ends, for nobody asks while one runs, and a step must be cheap.

Several checkpoints may share one `content`. It goes, and its stored parts with it, when no
checkpoint and no waiting turn holds it any more.
"""

from __future__ import annotations

from turnback.core import packs
from turnback.core.sqlite import Migration

THREADS = """
CREATE TABLE thread (
    id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    surface TEXT NOT NULL,
    owner TEXT NOT NULL,
    group_ INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    forked_thread TEXT,
    forked_snapshot TEXT,
    head_branch INTEGER NOT NULL,
    head_pos INTEGER NOT NULL,
    root_branch INTEGER NOT NULL,
    root_pos INTEGER NOT NULL,
    root_turn_index INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    memory INTEGER NOT NULL DEFAULT 1,
    tokens INTEGER NOT NULL DEFAULT 0,
    usd REAL NOT NULL DEFAULT 0,
    running_turn INTEGER,
    next_pos INTEGER NOT NULL,
    next_turn INTEGER NOT NULL DEFAULT 1,
    next_branch INTEGER NOT NULL DEFAULT 1,
    next_row INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX thread_owner ON thread (owner, updated_at);
CREATE INDEX thread_updated ON thread (updated_at);
CREATE INDEX thread_running ON thread (running_turn) WHERE running_turn IS NOT NULL;
CREATE INDEX thread_forked ON thread (forked_thread, forked_snapshot) WHERE forked_thread IS NOT NULL;

CREATE TABLE branch (
    thread TEXT NOT NULL,
    branch INTEGER NOT NULL,
    left_branch INTEGER,
    left_pos INTEGER,
    tip INTEGER NOT NULL,
    PRIMARY KEY (thread, branch)
) WITHOUT ROWID;

CREATE TABLE return_ (
    thread TEXT NOT NULL,
    n INTEGER NOT NULL,
    id TEXT NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    PRIMARY KEY (thread, n)
) WITHOUT ROWID;

CREATE TABLE turn (
    thread TEXT NOT NULL,
    turn_no INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    base_branch INTEGER NOT NULL,
    base_pos INTEGER NOT NULL,
    end_branch INTEGER NOT NULL,
    end_pos INTEGER NOT NULL,
    summary TEXT NOT NULL,
    status TEXT NOT NULL,
    actor TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    origin TEXT,
    files BLOB,
    content INTEGER REFERENCES content (id),
    PRIMARY KEY (thread, turn_no)
) WITHOUT ROWID;
CREATE INDEX turn_content ON turn (content) WHERE content IS NOT NULL;

CREATE TABLE row_ (
    thread TEXT NOT NULL,
    n INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    author TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (thread, n)
) WITHOUT ROWID;
CREATE INDEX row_turn ON row_ (thread, turn_no);

CREATE TABLE fact (
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (thread, id)
) WITHOUT ROWID;

CREATE TABLE effect (
    thread TEXT NOT NULL,
    pos INTEGER NOT NULL,
    n INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    number INTEGER NOT NULL,
    tool TEXT NOT NULL,
    args BLOB NOT NULL,
    PRIMARY KEY (thread, pos, n)
) WITHOUT ROWID;

CREATE TABLE content (
    id INTEGER PRIMARY KEY,
    thread TEXT NOT NULL,
    ref BLOB NOT NULL
);
CREATE INDEX content_thread ON content (thread);

CREATE TABLE checkpoint (
    thread TEXT NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    content INTEGER NOT NULL REFERENCES content (id),
    PRIMARY KEY (thread, branch, pos)
) WITHOUT ROWID;
CREATE INDEX checkpoint_content ON checkpoint (content);

CREATE TABLE gate (
    id TEXT NOT NULL PRIMARY KEY,
    thread TEXT NOT NULL,
    turn_no INTEGER NOT NULL,
    n INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    args BLOB NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER
) WITHOUT ROWID;
CREATE INDEX gate_turn ON gate (thread, turn_no, n);

CREATE TABLE participant (
    thread TEXT NOT NULL,
    account TEXT NOT NULL,
    PRIMARY KEY (thread, account)
) WITHOUT ROWID;
CREATE INDEX participant_account ON participant (account);

CREATE TABLE idempotency (
    thread TEXT NOT NULL,
    key TEXT NOT NULL,
    answer BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (thread, key)
) WITHOUT ROWID;

CREATE TABLE waiting (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    account TEXT NOT NULL,
    surface TEXT NOT NULL,
    name TEXT NOT NULL,
    identity TEXT,
    text TEXT NOT NULL,
    origin TEXT,
    files BLOB
);
CREATE INDEX waiting_thread ON waiting (thread);
"""

PEOPLE = """
CREATE TABLE account (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    admin INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE identity (
    surface TEXT NOT NULL,
    user_key TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (surface, user_key)
) WITHOUT ROWID;
CREATE INDEX identity_account ON identity (account);

CREATE TABLE binding (
    surface TEXT NOT NULL,
    place TEXT NOT NULL,
    thread TEXT NOT NULL,
    PRIMARY KEY (surface, place)
) WITHOUT ROWID;
CREATE INDEX binding_thread ON binding (thread);

CREATE TABLE post (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    surface TEXT NOT NULL,
    place TEXT NOT NULL,
    message TEXT NOT NULL,
    thread TEXT NOT NULL,
    branch INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    kind TEXT NOT NULL,
    UNIQUE (surface, place, message)
);
CREATE INDEX post_thread ON post (thread, surface, place);

CREATE TABLE secret (
    digest TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    account TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX secret_account ON secret (account);
"""

RECORDS = """
CREATE TABLE claim (
    surface TEXT NOT NULL,
    key TEXT NOT NULL,
    payload BLOB NOT NULL,
    started INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (surface, key)
) WITHOUT ROWID;
CREATE INDEX claim_created ON claim (created_at);
CREATE INDEX claim_unstarted ON claim (created_at) WHERE started = 0;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    account TEXT,
    actor TEXT NOT NULL,
    surface TEXT NOT NULL,
    action TEXT NOT NULL,
    thread TEXT,
    snapshot TEXT,
    head_before TEXT,
    outcome TEXT NOT NULL,
    code TEXT
);
CREATE INDEX audit_thread ON audit (thread, id);
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TABLE setting (key TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE note (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tombstone (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE follow_up (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    thread TEXT NOT NULL,
    args BLOB NOT NULL
);
CREATE INDEX follow_up_thread ON follow_up (thread);
"""

HEARD = """
CREATE TABLE heard (
    surface TEXT NOT NULL,
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (surface, place)
) WITHOUT ROWID;
CREATE INDEX heard_at ON heard (surface, at);
"""

PRESENCE = """
ALTER TABLE account ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
ALTER TABLE binding ADD COLUMN account TEXT;

CREATE TABLE takes_part (
    thread TEXT NOT NULL,
    account TEXT NOT NULL,
    surface TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (thread, account, surface, place)
) WITHOUT ROWID;
INSERT OR IGNORE INTO takes_part (thread, account, surface, place)
    SELECT p.thread, p.account, COALESCE(b.surface, t.surface), COALESCE(b.place, '')
    FROM participant p JOIN thread t ON t.id = p.thread LEFT JOIN binding b ON b.thread = p.thread
    AND b.place NOT LIKE '%/D%' AND (b.surface, b.place) NOT IN (SELECT surface, user_key FROM identity);
DROP TABLE participant;
ALTER TABLE takes_part RENAME TO participant;
CREATE INDEX participant_account ON participant (account, surface, place);
CREATE INDEX participant_place ON participant (surface, place);

CREATE TABLE moved_place (
    surface TEXT NOT NULL,
    old TEXT NOT NULL,
    new TEXT NOT NULL,
    PRIMARY KEY (surface, old)
) WITHOUT ROWID;
"""
"""Who is an admin only because `access.admins` says so; whose private place a binding is; where people take part in a
thread, which is not where they talk into it privately; and which keys of places are dead, and what they are now.
"""

MIGRATIONS: tuple[Migration, ...] = (THREADS + PEOPLE + RECORDS + packs.SCHEMA, HEARD, PRESENCE)
"""From nothing to version 1, from 1 to 2, and so on. One that was released is never changed."""
