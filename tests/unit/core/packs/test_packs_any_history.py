"""Whatever a thread goes through, its surviving states read back equal, and nothing is left of the others."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnback.core.packs import SCHEMA, Packs, Stored, load
from turnback.core.packs.cursor import Cursors
from turnback.core.sqlite import split_statements
from turnback.core.state import codec

WORDS = ["ash", "bay", "cove", "dune", "elm", "fern", "glen", "heath", "isle", "jetty", "knoll", "loch", "moor", "ness"]

KEPT = "SELECT ref FROM kept WHERE thread = ?1 ORDER BY id DESC"

ACTS = st.sampled_from(
    [
        *["append"] * 3,
        *["edit_message", "compact", "edit_pad", "grow_pad", "slide_pad", "new_key", "lose_key", "no_list", "empty"],
        *["branch", "drop_one", "drop_old", "drop_new", "purge", "restart", "copy"],
    ]
)


class History:
    """A thread's states as they should be, beside the packs that hold them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.db = _database()
        self.packs = Packs(KEPT, suspects=lambda _data, _thread: False, cursors=Cursors(most=2, most_bytes=100_000))
        self.state: dict[str, Any] = {"messages": [], "pad": self.text(3000), "n": 0}
        self.kept: dict[bytes, dict[str, Any]] = {}

    def text(self, size: int) -> str:
        return " ".join(self.random.choices(WORDS, k=max(1, size // 5)))

    def messages(self) -> list[Any]:
        messages = self.state.get("messages")
        return list(messages) if isinstance(messages, list) else []

    def act(self, name: str) -> None:
        getattr(self, name)()
        if name not in {"drop_one", "drop_old", "drop_new", "purge", "restart"}:
            self.state["n"] = self.random.randrange(10**6)
            self.save()

    def save(self) -> None:
        self.keep(self.packs.put(self.db, "t", codec.encode(self.state)), self.state)

    def keep(self, stored: Stored, state: dict[str, Any]) -> None:
        assert stored.ref not in self.kept
        self.kept[stored.ref] = dict(state)
        self.db.execute("INSERT INTO kept(thread, ref) VALUES (?, ?)", (stored.number, stored.ref))

    def append(self) -> None:
        size = self.random.choice([20, 400, 9000])
        self.state["messages"] = [*self.messages(), {"role": "user", "content": self.text(size)}]

    def edit_message(self) -> None:
        messages = self.messages()
        if messages:
            messages[self.random.randrange(len(messages))] = {"role": "user", "content": self.text(50)}
        self.state["messages"] = messages

    def compact(self) -> None:
        messages = self.messages()
        half = len(messages) // 2
        self.state["messages"] = [{"role": "tool", "content": "[cleared]"} for _ in messages[:half]] + messages[half:]

    def edit_pad(self) -> None:
        pad = self.state.get("pad", "")
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(pad) + 1)
            pad = pad[:at] + self.text(30) + pad[at + self.random.randrange(60) :]
        self.state["pad"] = pad

    def grow_pad(self) -> None:
        self.state["pad"] = self.state.get("pad", "") + self.text(self.random.choice([100, 40_000]))

    def slide_pad(self) -> None:
        self.state["pad"] = (self.state.get("pad", "") + self.text(200))[-2500:]

    def new_key(self) -> None:
        self.state[self.random.choice(WORDS)] = self.text(self.random.choice([5, 700]))

    def lose_key(self) -> None:
        self.state.pop(self.random.choice(list(self.state)))

    def no_list(self) -> None:
        self.state["messages"] = None

    def empty(self) -> None:
        self.state = {}

    def branch(self) -> None:
        if self.kept:
            self.state = dict(self.random.choice(list(self.kept.values())))
        self.append()

    def _drop(self, refs: list[bytes], *, purge: bool = False) -> None:
        for ref in refs:
            del self.kept[ref]
            self.db.execute("DELETE FROM kept WHERE ref = ?", (ref,))
        self.packs.drop(self.db, "t", refs, purge=purge)

    def drop_one(self) -> None:
        self._drop(self.random.sample(list(self.kept), min(1, len(self.kept))))

    def drop_old(self) -> None:
        self._drop(list(self.kept)[: len(self.kept) // 2])

    def drop_new(self) -> None:
        self._drop(list(self.kept)[len(self.kept) // 2 :])

    def purge(self) -> None:
        self._drop(self.random.sample(list(self.kept), len(self.kept) // 3), purge=True)

    def restart(self) -> None:
        self.packs = Packs(KEPT, suspects=lambda _data, _thread: False)

    def copy(self) -> None:
        """Move the thread to another file by a bundle, and go on there."""
        if not self.kept:
            return
        ref, state = self.random.choice(list(self.kept.items()))
        bundle = self.packs.bundle(self.db, "t", ref)
        self.db.close()
        self.db = _database()
        self.restart()
        self.kept = {}
        self.keep(self.packs.put(self.db, "t", bundle), state)
        self.state = dict(state)

    def check(self) -> None:
        for ref, state in self.kept.items():
            assert load(self.packs.peek(self.db, "t", ref)) == state
            assert load(self.packs.bundle(self.db, "t", ref)) == state
        [(total,)] = self.db.execute(
            "SELECT sum(size) FROM (SELECT size FROM pack_blob UNION ALL SELECT length(data) AS size FROM pack_loose)"
        )
        assert (total or 0,) == self.db.execute("SELECT bytes FROM pack_thread WHERE number = 0").fetchone()


def _database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in split_statements(SCHEMA + "CREATE TABLE kept (id INTEGER PRIMARY KEY, thread INTEGER, ref BLOB);"):
        db.execute(statement)
    return db


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts=st.lists(ACTS, min_size=1, max_size=60), seed=st.integers(0, 2**32))
def test_any_history_reads_back_equal_and_leaves_nothing(acts: list[str], seed: int) -> None:
    history = History(seed)
    try:
        for act in acts:
            history.act(act)
        history.check()
        history._drop(list(history.kept))
        for table in ("pack_blob", "pack_loose"):
            assert history.db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    finally:
        history.db.close()
