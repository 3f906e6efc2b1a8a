"""What older versions of turnback.db become."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from turnback.core.models import AccountId, Surface, ThreadId
from turnback.core.sqlite import Database
from turnback.core.threads.schema import MIGRATIONS
from turnback.core.threads.sqlite import SqliteThreadStore

_THREAD = (
    "INSERT INTO thread (id, title, surface, owner, group_, created_at, updated_at, head_branch, head_pos, "
    "root_branch, root_pos, root_turn_index, next_pos) VALUES (?, '', 'telegram', 'ann', 1, 0, 0, 0, 0, 0, 0, 0, 1)"
)


async def test_who_took_part_in_an_older_file_takes_part_at_the_groups_place(tmp_path: Path) -> None:
    old = await Database.open(tmp_path / "turnback.db", MIGRATIONS[:1])

    def fill(db: sqlite3.Connection) -> None:
        for thread in ("t1", "t2"):
            db.execute(_THREAD, (thread,))
        db.execute("INSERT INTO account VALUES ('bob', 'bob', 'bob', 1, 0)")
        db.execute("INSERT INTO identity VALUES ('telegram', '2', 'bob', 'Bob')")
        db.executemany("INSERT INTO participant VALUES (?, 'bob')", [("t1",), ("t2",)])
        db.executemany("INSERT INTO binding VALUES ('telegram', ?, 't1')", [("-100",), ("2",)])

    await old.write(fill)
    await old.close()

    store = await SqliteThreadStore.open(tmp_path / "turnback.db")
    try:
        assert [set(await store.participants(ThreadId(t))) for t in ("t1", "t2")] == [{"bob"}, {"bob"}]
        assert await store.drop_participants(Surface.TELEGRAM, "-100", AccountId("bob")) == {("t1", "bob")}
        [bob] = await store.accounts()
        assert (bob.admin, bob.named) == (True, False)
    finally:
        await store.close()
