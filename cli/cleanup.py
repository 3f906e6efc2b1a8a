"""`turnback cleanup`: the daily clean-up, now."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from turnback.cli.api import connect
from turnback.cli.options import Config, Data, Json, settings
from turnback.cli.output import progress, show
from turnback.config import Loaded
from turnback.core.text import counted


def cleanup(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Delete steps older than time_travel.retention_days, and compact the file."""
    done = asyncio.run(_cleanup(settings(config, data), dry_run))
    verb = "would be deleted" if dry_run else "deleted"
    what = f"{counted(done['steps'], 'step')} of {counted(done['threads'], 'chat')}"
    lines = [f"{what} saved before {done['before']} {verb}."]
    if not dry_run:
        lines.append(f"Compaction: {done['compaction']}, {done['freed_bytes']} bytes freed.")
    show(done, as_json, *lines)


async def _cleanup(loaded: Loaded, dry_run: bool) -> dict[str, Any]:
    with progress("cleaning up"):
        async with connect(loaded) as api:
            done: dict[str, Any] = await api.post("/api/cleanup", {"dry_run": dry_run})
    return done
