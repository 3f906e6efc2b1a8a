"""The states that a thread itself keeps: at its head, around its newest turns, where redo leads.

All functions run inside the caller's transaction. A copy of a checkpoint shares the stored content;
the content goes with its last holder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator

from turnback.core.lineage import Path
from turnback.core.models import BEGINNING, Position, ThreadId
from turnback.core.packs import Packs
from turnback.core.packs.bundle import Bundle
from turnback.core.policy import UNDO_TURNS
from turnback.core.state.codec import Encoded

KEPT = "SELECT ref FROM content WHERE thread = (SELECT name FROM pack_thread WHERE number = ?1) ORDER BY id DESC"
"""The states of a thread, as packs want to know them."""

EMPTY = Encoded(messages=b"", fields={}, bytes=2)
"""What stands at the beginning of every thread."""


class Checkpoints:
    """Checkpoints of all threads, over the packs of the same file."""

    def __init__(self, packs: Packs) -> None:
        self._packs = packs

    def has(self, db: sqlite3.Connection, thread: ThreadId, at: Position) -> bool:
        """Whether the head can move to `at` without being given a state."""
        return at == BEGINNING or self._content(db, thread, at) is not None

    def find(self, db: sqlite3.Connection, thread: ThreadId, at: Position, *, to_read: bool = True) -> Bundle | None:
        """What is kept at `at`, to be read at once, or (slower) to be copied elsewhere."""
        content = self._content(db, thread, at)
        return None if content is None else self.bundle(db, thread, content, to_read=to_read)

    def bundle(self, db: sqlite3.Connection, thread: ThreadId, content: int, *, to_read: bool = True) -> Bundle:
        (ref,) = db.execute("SELECT ref FROM content WHERE id = ?", (content,)).fetchone()
        return (self._packs.peek if to_read else self._packs.bundle)(db, thread, ref)

    def put(self, db: sqlite3.Connection, thread: ThreadId, at: Position, state: Encoded | Bundle) -> None:
        """Keep `state` at `at`, instead of what was there."""
        old = self._content(db, thread, at)
        self._hold(db, thread, at, self.keep(db, thread, state))
        if old is not None:
            self.let_go(db, thread, [old])

    def step(self, db: sqlite3.Connection, thread: ThreadId, before: Position, at: Position, state: Encoded) -> None:
        """Keep `state` at the new position `at` instead of what was kept at `before`."""
        old = self._content(db, thread, before)
        new = self.keep(db, thread, state)
        assert old is not None, "every head has a checkpoint"
        db.execute(
            "UPDATE checkpoint SET branch = ?, pos = ?, content = ? WHERE thread = ? AND branch = ? AND pos = ?",
            (at.branch, at.pos, new, thread, before.branch, before.pos),
        )
        self.let_go(db, thread, [old])

    def share(self, db: sqlite3.Connection, thread: ThreadId, source: Position, at: Position) -> None:
        """Keep at `at` what is kept at `source`, too."""
        content = self._content(db, thread, source)
        if content is None:
            assert source == BEGINNING, "every head has a checkpoint"
            content = self.keep(db, thread, EMPTY)
        self._hold(db, thread, at, content)

    def drop(self, db: sqlite3.Connection, thread: ThreadId, gone: Iterable[Position], *, purge: bool = False) -> None:
        """Keep nothing at these positions; with `purge` nothing of it stays in the file."""
        contents = []
        for at in gone:
            content = self._content(db, thread, at)
            if content is not None:
                contents.append(content)
                db.execute(
                    "DELETE FROM checkpoint WHERE thread = ? AND branch = ? AND pos = ?", (thread, at.branch, at.pos)
                )
        self.let_go(db, thread, contents, purge=purge)

    def drop_unless(
        self, db: sqlite3.Connection, thread: ThreadId, kept: Callable[[Position], bool], *, purge: bool = False
    ) -> None:
        """Keep nothing at positions but those that `kept` answers for."""
        found = db.execute("SELECT branch, pos FROM checkpoint WHERE thread = ?", (thread,)).fetchall()
        self.drop(db, thread, [at for at in (Position(*row) for row in found) if not kept(at)], purge=purge)

    def prune(self, db: sqlite3.Connection, thread: ThreadId, head: Path) -> None:
        """Let go of what is neither the head's nor around one of the newest turns; nothing can be redone now."""
        kept = {(head.end.branch, head.end.pos), *_around_newest_turns(db, thread, head)}
        found = db.execute("SELECT branch, pos FROM checkpoint WHERE thread = ?", (thread,)).fetchall()
        self.drop(db, thread, [Position(*place) for place in found if place not in kept])

    def drop_thread(self, db: sqlite3.Connection, thread: ThreadId) -> None:
        """Keep nothing of this thread. Its turns are gone already."""
        db.execute("DELETE FROM checkpoint WHERE thread = ?", (thread,))
        db.execute("DELETE FROM content WHERE thread = ?", (thread,))
        self._packs.drop_thread(db, thread)

    def keep(self, db: sqlite3.Connection, thread: ThreadId, state: Encoded | Bundle) -> int:
        """Store a state; answers its content, which the caller must now hold."""
        stored = self._packs.put(db, thread, state)
        content = db.execute("INSERT INTO content (thread, ref) VALUES (?, ?)", (thread, stored.ref)).lastrowid
        assert content is not None, "an INSERT answers its rowid"
        return content

    def let_go(self, db: sqlite3.Connection, thread: ThreadId, contents: Iterable[int], *, purge: bool = False) -> None:
        """Delete those of these contents that nothing holds any more."""
        gone = []
        for content in contents:
            row = db.execute(
                "DELETE FROM content WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint WHERE content = ?1) "
                "RETURNING ref",
                (content,),
            ).fetchone()
            if row is not None:
                gone.append(row[0])
        if gone:
            self._packs.drop(db, thread, gone, purge=purge)

    def _content(self, db: sqlite3.Connection, thread: ThreadId, at: Position) -> int | None:
        row = db.execute(
            "SELECT content FROM checkpoint WHERE thread = ? AND branch = ? AND pos = ?", (thread, at.branch, at.pos)
        ).fetchone()
        return None if row is None else int(row[0])

    def _hold(self, db: sqlite3.Connection, thread: ThreadId, at: Position, content: int) -> None:
        db.execute(
            "INSERT INTO checkpoint (thread, branch, pos, content) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET content = excluded.content",
            (thread, at.branch, at.pos, content),
        )


def _around_newest_turns(db: sqlite3.Connection, thread: ThreadId, head: Path) -> Iterator[tuple[int, int]]:
    """Where the newest turns began and ended: of all turns, and of those on the path."""
    on_path = 0
    found = db.execute(
        "SELECT branch, pos, base_branch, base_pos, end_branch, end_pos FROM turn "
        "WHERE thread = ? ORDER BY turn_no DESC",
        (thread,),
    )
    for seen, (branch, pos, base_branch, base_pos, end_branch, end_pos) in enumerate(found):
        if seen >= UNDO_TURNS and on_path >= UNDO_TURNS:
            return
        covered = pos <= head.upto.get(branch, -1)
        on_path += covered
        if seen < UNDO_TURNS or covered:
            yield base_branch, base_pos
            yield end_branch, end_pos
