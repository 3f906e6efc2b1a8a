"""What is found out about database files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from turnback.core.inspection import inspect
from turnback.core.steps.schema import MIGRATIONS as STEPS
from turnback.core.threads.schema import MIGRATIONS
from turnback.core.threads.sqlite import SqliteThreadStore


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    path = tmp_path / "turnback.db"
    await (await SqliteThreadStore.open(path)).close()
    return path


async def test_intact_file_is_good_and_untouched(file: Path) -> None:
    before = file.read_bytes()
    assert inspect(file, MIGRATIONS).finding == "good"
    assert file.read_bytes() == before


def test_missing_file_is_not_made(tmp_path: Path) -> None:
    assert inspect(tmp_path / "turnback.db", MIGRATIONS).finding == "missing"
    assert list(tmp_path.iterdir()) == []


def test_folder_in_its_place_is_unreadable(tmp_path: Path) -> None:
    assert inspect(tmp_path, MIGRATIONS).finding == "unreadable"


def test_random_bytes_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "steps.db"
    path.write_bytes(b"\x07" * 8192)
    assert inspect(path, STEPS).finding == "damaged"


async def test_newer_schema_is_named(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    report = inspect(file, MIGRATIONS)
    assert (report.finding, report.version) == ("newer", 99)


async def test_older_schema_is_fine(file: Path) -> None:
    assert inspect(file, [*MIGRATIONS, "CREATE TABLE later (x);"]).finding == "older"


async def test_missing_column_is_named(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE note DROP COLUMN value")
    db.close()
    report = inspect(file, MIGRATIONS)
    assert (report.finding, report.detail) == ("damaged", "has no column note.value")
