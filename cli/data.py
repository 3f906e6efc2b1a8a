"""`turnback backup`, `restore-backup` and `import`: whole data, in and out."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from turnback.cli.importing import import_conversations
from turnback.cli.options import Config, Data, Json, folder, settings
from turnback.cli.output import fail, note, progress, show
from turnback.config import Loaded
from turnback.core.folder import STEPS_FILE, THREADS_FILE, claimed
from turnback.core.inspection import inspect
from turnback.core.people import LOCAL
from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.text import counted
from turnback.core.threads.restoring import carry_over
from turnback.core.threads.schema import MIGRATIONS
from turnback.core.threads.sqlite import SqliteThreadStore
from turnback.core.transfer import NotImportable, read

LARGEST_IMPORT = 1024 * 1024 * 1024
"""Bytes of a file that is read into memory."""

SIDE_FILES = ("-wal", "-shm", "-journal")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")], config: Config = None, data: Data = None
) -> None:
    """Copy turnback.db, also while a server runs. Steps are not in it: see `steps export`."""
    asyncio.run(_backup(settings(config, data), file))


def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.")],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of turnback.db. What was deleted since stays deleted."""
    asyncio.run(_restore_backup(settings(config, data), file, as_json))


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An export, or OpenAI-style chats as JSON or JSONL.")],
    account: Annotated[str, typer.Option("--account", help="Who owns the new chats; made if need be.")] = LOCAL,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make new chats from a file."""
    loaded = settings(config, data)
    try:
        if file.stat().st_size > LARGEST_IMPORT:
            fail(f"{file} is larger than {LARGEST_IMPORT} bytes; split it")
        conversations = read(file.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except UnicodeDecodeError:
        fail(f"{file} is not UTF-8 text")
    except NotImportable as error:
        fail(f"{file}: {error}")
    with progress("importing"):
        done = asyncio.run(import_conversations(loaded, conversations, account))
    show(done, as_json, *(f"{t['thread_id']}  {counted(t['steps'], 'step')}  {t['title']}" for t in done["threads"]))
    for reason, count in done["left_out"].items():
        if count:
            note(f"left out: {counted(count, 'step')}, {reason}")


async def _backup(loaded: Loaded, file: Path) -> None:
    database = folder(loaded) / THREADS_FILE
    if not database.is_file():
        fail(f"{database} is not there; nothing to back up")
    if file.exists():
        fail(f"{file} exists already; name a new file")
    if not file.absolute().parent.is_dir():
        fail(f"{file.parent} is no folder")
    threads = await SqliteThreadStore.open(database)
    try:
        with progress("copying"):
            await threads.backup(str(file))
    finally:
        await threads.close()
    file.chmod(0o600)
    note(f"{database} copied to {file}; steps are not in it")


async def _restore_backup(loaded: Loaded, file: Path, as_json: bool) -> None:
    if not file.exists():
        fail(f"{file}: there is no such file")
    report = inspect(file, MIGRATIONS)
    if report.finding not in ("good", "older") or not report.version:
        fail(f"{file} is not a backup that can be used: {report.detail or 'it is empty'}")
    with claimed(folder(loaded)), progress("restoring"):
        copy = folder(loaded) / f"{THREADS_FILE}.restored"
        _remove(copy)
        try:
            dead, known = await _prepared(file, copy, folder(loaded) / THREADS_FILE)
            _replace(copy, folder(loaded) / THREADS_FILE)
        finally:
            _remove(copy)
        dropped = await _drop_newer_steps(folder(loaded), known)
    done = {"threads": len(known), "left_deleted": dead, "steps_dropped": dropped}
    what = f"Restored {counted(len(known), 'chat')}, left {dead} deleted, dropped {counted(dropped, 'newer step')}."
    show(done, as_json, what)


async def _prepared(file: Path, copy: Path, present: Path) -> tuple[int, dict[str, int]]:
    """The backup as a file of this folder, without what was deleted since."""
    shutil.copyfile(file, copy)
    copy.chmod(0o600)
    if present.exists():
        await (await SqliteThreadStore.open(present)).close()  # brings its schema up to date, folds its log in
    threads = await SqliteThreadStore.open(copy)
    await threads.close()
    dead, known = carry_over(copy, present)
    threads = await SqliteThreadStore.open(copy)
    try:
        await threads.merge_tombstones(dead)
        await threads.purge()
    finally:
        await threads.close()
    return len(dead), {str(thread): pos for thread, pos in known.items()}


def _replace(copy: Path, present: Path) -> None:
    """The old file goes: what was deleted must be nowhere."""
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for suffix in SIDE_FILES:
        present.with_name(present.name + suffix).unlink(missing_ok=True)
    copy.replace(present)


async def _drop_newer_steps(data: Path, known: dict[str, int]) -> int:
    """Steps that the restored file knows nothing of have no place in its threads."""
    steps = SqliteStepStore(data / STEPS_FILE)
    try:
        dropped = 0
        for thread_id in await steps.threads():
            rows = await steps.rows(thread_id)
            gone = [step.id for step in rows if step.at.pos >= known.get(thread_id, 0)]
            dropped += await steps.delete_steps(thread_id, gone) if gone else 0
        return dropped
    finally:
        await steps.close()


def _remove(file: Path) -> None:
    for suffix in ("", *SIDE_FILES):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
