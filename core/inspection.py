"""What state a database file is in, found without opening it for writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from turnback.core.sqlite import Migration

Finding = Literal["missing", "good", "older", "newer", "damaged", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """`older` files are brought up to date at the next start; `detail` is one line."""

    path: Path
    finding: Finding
    detail: str = ""
    version: int | None = None


def inspect(path: Path, migrations: Sequence[Migration]) -> FileReport:
    """Read the whole file: its integrity, its schema version, and whether tables and columns are all there."""
    if not path.exists():
        return FileReport(path=path, finding="missing", detail="not there yet; made at the first start")
    if not path.is_file():
        return FileReport(path=path, finding="unreadable", detail="is not a file")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=5)
    except sqlite3.Error as error:
        return FileReport(path=path, finding="unreadable", detail=str(error))
    try:
        return _inspect(path, connection, migrations)
    except sqlite3.DatabaseError as error:
        broken = not isinstance(error, sqlite3.OperationalError)
        return FileReport(path=path, finding="damaged" if broken else "unreadable", detail=str(error))
    finally:
        connection.close()


def _inspect(path: Path, connection: sqlite3.Connection, migrations: Sequence[Migration]) -> FileReport:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        detail = f"was written by a newer Turnback (schema {version}, this one knows {len(migrations)})"
        return FileReport(path=path, finding="newer", detail=detail, version=version)
    problems = [line for (line,) in connection.execute("PRAGMA integrity_check(3)") if line != "ok"]
    if problems:
        return FileReport(path=path, finding="damaged", detail=problems[0].splitlines()[0], version=version)
    if version < len(migrations):
        detail = f"has schema {version}; the next start brings it to {len(migrations)}"
        return FileReport(path=path, finding="older", detail=detail, version=version)
    missing = _tables(_fresh(migrations)) - _tables(connection)
    if missing:
        table, column = min(missing)
        return FileReport(path=path, finding="damaged", detail=f"has no column {table}.{column}", version=version)
    return FileReport(path=path, finding="good", version=version)


def _fresh(migrations: Sequence[Migration]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for migration in migrations:
        if callable(migration):
            migration(connection)
        else:
            connection.executescript(migration)
    return connection


def _tables(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        (name, column)
        for name in names
        if not name.startswith("sqlite_")
        for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
    }
