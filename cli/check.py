"""`turnback check`: whether this installation can work, and what to do where it cannot."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from turnback import __version__
from turnback.bots.platform import Down
from turnback.cli.convert import agent_of
from turnback.cli.options import Config, Data, Json, folder, settings
from turnback.cli.output import Failed, show
from turnback.config import Loaded
from turnback.core.beside import noted
from turnback.core.folder import STEPS_FILE, THREADS_FILE
from turnback.core.inspection import FileReport, inspect
from turnback.core.maintenance import LAST_SUCCESS
from turnback.core.sqlite import Migration, NewerSchema
from turnback.core.steps.schema import MIGRATIONS as STEPS_MIGRATIONS
from turnback.core.threads.schema import MIGRATIONS as THREADS_MIGRATIONS

SPACE_WANTED = 1024 * 1024 * 1024
"""Bytes that should be free on the disk of the data folder."""

EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
"""A clock before this is wrong."""

CLOCK_SLACK_SECONDS = 300

PROBE_SECONDS = 15
"""How long a platform may take to answer."""

_ADVICE = {
    "damaged": {
        THREADS_FILE: "stop the server and put a backup in its place: turnback restore-backup FILE",
        STEPS_FILE: "stop the server and move the file away; conversations and undo go on without it",
    },
    "unreadable": dict.fromkeys((THREADS_FILE, STEPS_FILE), "see to its owner, rights and locks"),
    "newer": dict.fromkeys((THREADS_FILE, STEPS_FILE), "update Turnback"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at; `advice` says what to do if it is not `ok`."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


def check(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Look at settings, folder, databases, disk, clock and agent."""
    loaded = settings(config, data)
    checks = list(_checks(loaded))
    good = all(c.ok for c in checks)
    lines = [f"{'ok  ' if c.ok else 'FAIL'}  {c.name}: {c.detail}{_then(c)}" for c in checks]
    show({"ok": good, "version": __version__, "checks": [asdict(c) for c in checks]}, as_json, *lines)
    if not good:
        raise typer.Exit(1)


def _checks(loaded: Loaded) -> Iterator[Check]:
    data = folder(loaded)
    yield Check(name="settings", ok=True, detail=str(loaded.file) if loaded.file else "no file; defaults")
    yield _folder(data)
    for name, migrations in ((THREADS_FILE, THREADS_MIGRATIONS), (STEPS_FILE, STEPS_MIGRATIONS)):
        yield _database(name, data / name, migrations)
    yield _disk(data)
    yield asyncio.run(_cleanup(data))
    yield _clock(data)
    yield _agent(loaded)
    yield from asyncio.run(_platforms(loaded))


def _folder(data: Path) -> Check:
    if not data.exists():
        parent = next(p for p in data.absolute().parents if p.exists())
        usable = os.access(parent, os.W_OK | os.X_OK)
        return Check(name="folder", ok=usable, detail=f"{data} will be made", advice=f"make {parent} writable")
    if not data.is_dir():
        return Check(name="folder", ok=False, detail=f"{data} is no folder", advice="choose another storage.path")
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        return Check(name="folder", ok=False, detail=f"{data} cannot be written", advice="change its owner or rights")
    if data.stat().st_mode & 0o007:
        return Check(name="folder", ok=False, detail=f"everybody can enter {data}", advice=f"chmod o-rwx {data}")
    return Check(name="folder", ok=True, detail=str(data))


def _database(name: str, path: Path, migrations: Sequence[Migration]) -> Check:
    report: FileReport = inspect(path, migrations)
    ok = report.finding in ("good", "missing", "older")
    detail = report.detail or f"intact, schema {report.version}"
    return Check(name=name, ok=ok, detail=detail, advice=_ADVICE.get(report.finding, {}).get(name, ""))


def _disk(data: Path) -> Check:
    place = next(p for p in (data, *data.absolute().parents) if p.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free // 1024**2} MB free"
    return Check(name="disk", ok=free >= SPACE_WANTED, detail=detail, advice="make room: 1 GB should be free")


async def _cleanup(data: Path) -> Check:
    """When the clean-up last succeeded; it is overdue after two days, if the service runs all the time."""
    try:
        last = await noted(data, LAST_SUCCESS)
    except (sqlite3.Error, NewerSchema):
        last = None  # told under turnback.db
    return Check(name="clean-up", ok=True, detail=f"last ran {last}" if last else "has not run yet")


def _clock(data: Path) -> Check:
    """A clock that is behind what was written last would keep old steps too long, and order lists wrongly."""
    now = datetime.now(UTC)
    written = [f.stat().st_mtime for f in (data / THREADS_FILE, data / STEPS_FILE) if f.is_file()]
    behind = max(written, default=0) - now.timestamp()
    ok = now >= EARLIEST and behind <= CLOCK_SLACK_SECONDS
    detail = now.isoformat(timespec="seconds") + (f", {int(behind)} s behind the data" if behind > 0 and not ok else "")
    return Check(name="clock", ok=ok, detail=detail, advice="set the clock of this machine")


def _agent(loaded: Loaded) -> Check:
    kind = loaded.settings.agent.kind
    try:
        agent_of(loaded.settings)
    except Failed as error:
        return Check(name="agent", ok=False, detail=str(error), advice="change agent.* in the settings")
    if loaded.settings.agent.shell == "confined" and not shutil.which("bwrap"):
        advice = 'install bubblewrap, or set agent.shell = "off"'
        return Check(name="agent", ok=False, detail=f"{kind}; no bubblewrap for the shell", advice=advice)
    return Check(name="agent", ok=True, detail=kind)


async def _platforms(loaded: Loaded) -> list[Check]:
    """Whether the platforms that the settings name let us in."""
    from turnback.cli.platforms import probes  # noqa: PLC0415 - loads the page, which no other command needs

    found = []
    for name, look in probes(loaded.settings):
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                found.append(Check(name=name, ok=True, detail=f"connects as {await look}"))
        except Down as down:
            found.append(Check(name=name, ok=False, detail="does not work", advice=str(down)))
        except TimeoutError:
            advice = "look at network and proxy"
            found.append(Check(name=name, ok=False, detail=f"no answer in {PROBE_SECONDS} s", advice=advice))
    return found


def _then(found: Check) -> str:
    return f" -> {found.advice}" if not found.ok and found.advice else ""
