"""Histories so long that what is known of their beginning is not looked at twice."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest

from turnback.core.packs import Packs, Stored, load
from turnback.core.state.prepare import prepare

KEPT = "SELECT ref FROM kept WHERE thread = ?1 ORDER BY id DESC"


class Kept:
    """Packs, and the references of what is kept in them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, thread INTEGER, ref BLOB)")
        self.db, self.packs = db, Packs(KEPT)

    def save(self, messages: list[dict[str, Any]]) -> Stored:
        stored = self.packs.put(self.db, "t", prepare({"messages": messages}, 2**24))
        self.db.execute("INSERT INTO kept(thread, ref) VALUES (?, ?)", (stored.number, stored.ref))
        return stored

    def read(self, stored: Stored) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = load(self.packs.bundle(self.db, "t", stored.ref))["messages"]
        return found


@pytest.fixture
def kept(db: sqlite3.Connection) -> Kept:
    return Kept(db)


def history(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": random.Random(n).randbytes(300).hex()} for n in range(count)]


def test_history_that_grows_is_stored_for_what_is_new(kept: Kept) -> None:
    saved = [kept.save(history(count)) for count in range(200, 220)]
    assert saved[0].stored_bytes > 5 * max(step.stored_bytes for step in saved[1:])
    assert [kept.read(step) for step in saved] == [history(count) for count in range(200, 220)]


def test_old_message_that_is_changed_in_place_is_noticed(kept: Kept) -> None:
    messages = history(200)
    before = kept.save(messages)
    messages[7]["content"] = messages[7]["content"].replace("a", "b")
    messages.append({"role": "user", "content": "more"})
    after = kept.save(messages)
    assert kept.read(before) == history(200)
    assert kept.read(after) == messages


def test_two_threads_with_the_same_beginning_keep_their_own(kept: Kept) -> None:
    first = kept.save(history(200))
    other = kept.packs.put(kept.db, "other", prepare({"messages": history(201)}, 2**24))
    third = kept.save(history(202))
    assert kept.read(first) == history(200)
    assert load(kept.packs.bundle(kept.db, "other", other.ref))["messages"] == history(201)
    assert kept.read(third) == history(202)
