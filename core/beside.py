"""What may be done in a data folder beside the service that has it: accounts, secrets, a look at the settings.

These are single transactions on turnback.db that no running service minds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnback.core.folder import THREADS_FILE
from turnback.core.people import People
from turnback.core.threads.sqlite import SqliteThreadStore


@asynccontextmanager
async def open_people(
    path: str | Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> AsyncIterator[People]:
    """Accounts and their secrets; makes the folder if need be."""
    folder = Path(path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # noqa: ASYNC240 - once, at start
    threads = await SqliteThreadStore.open(folder / THREADS_FILE)
    try:
        yield People(threads, clock=clock)
    finally:
        await threads.close()


async def stored_settings(path: str | Path) -> Mapping[str, Any]:
    """The settings changed at run time; none where there is no data yet."""
    async with _looked_into(Path(path) / THREADS_FILE) as threads:
        return await threads.settings() if threads else {}


async def noted(path: str | Path, key: str) -> str | None:
    """A note of the service's own; None where there is no data yet."""
    async with _looked_into(Path(path) / THREADS_FILE) as threads:
        return await threads.note(key) if threads else None


@asynccontextmanager
async def _looked_into(file: Path) -> AsyncIterator[SqliteThreadStore | None]:
    if not file.exists():  # noqa: ASYNC240 - one look
        yield None
        return
    threads = await SqliteThreadStore.open(file)
    try:
        yield threads
    finally:
        await threads.close()
