"""How much of the write-ahead log is in use."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from turnback.core.steps.checkpointing import checkpoint, log_size, log_used


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


def test_log_that_begins_anew_is_hardly_used_and_as_long_as_before(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE pad (data BLOB)")
    db.execute("INSERT INTO pad VALUES (zeroblob(400000))")
    assert 400_000 < log_used(path) <= log_size(path)
    assert checkpoint(db, "PASSIVE", 0)
    db.execute("INSERT INTO pad VALUES (zeroblob(10))")
    assert 0 < log_used(path) < 40_000 < log_size(path)
    path.with_name("some.db-shm").unlink()
    assert log_used(path) == 0
    db.close()
