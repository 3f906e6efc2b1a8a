"""turnback.db as the thread store sees it: what its disk or its lock refuses is a refusal, not a bug."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog

from turnback.core.errors import StoreUnavailable
from turnback.core.sqlite import Database

T = TypeVar("T")

WORDS = "The conversation cannot be read or written now. Try again in a moment; the admin can run `turnback check`."

_BUGS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)

_log = structlog.get_logger(__name__)


class GuardedDatabase(Database):
    """Raises StoreUnavailable where the file is locked, full or damaged; other errors are bugs and stay."""

    async def write(self, fn: Callable[[sqlite3.Connection], T], *, undone: Callable[[], None] | None = None) -> T:
        with _refusing():
            return await super().write(fn, undone=undone)

    async def outside(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        with _refusing():
            return await super().outside(fn)

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        with _refusing():
            return await super().read(fn)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except _BUGS:
        raise
    except sqlite3.DatabaseError as error:
        _log.error("the conversations cannot be read or written", reason=f"{type(error).__name__}: {error}")
        raise StoreUnavailable(WORDS) from error
