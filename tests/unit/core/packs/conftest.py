"""A database with nothing but the tables of packs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnback.core.packs import SCHEMA
from turnback.core.sqlite import split_statements

NewDatabase = Callable[[str], sqlite3.Connection]


@pytest.fixture
def new_db(tmp_path: Path) -> Iterator[NewDatabase]:
    """Makes databases in files; all are closed afterwards."""
    opened: list[sqlite3.Connection] = []

    def make(name: str = "packs.db") -> sqlite3.Connection:
        db = sqlite3.connect(tmp_path / name, isolation_level=None)
        opened.append(db)
        for statement in split_statements(SCHEMA):
            db.execute(statement)
        return db

    yield make
    for db in opened:
        db.close()


@pytest.fixture
def db(new_db: NewDatabase) -> sqlite3.Connection:
    return new_db("packs.db")
