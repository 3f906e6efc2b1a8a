"""Files that come with messages: kept in the workspace's `inbox/`, under names that harm nobody.

The workspace is the agent's, so whatever lies there may be a trap: nothing is written through a symbolic
link, and nothing that is there is overwritten.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from turnback.bots.platform import Attachment
from turnback.bots.telling import size
from turnback.bots.words import printable

FOLDER = "inbox"

MAX_BYTES = 20 * 1024 * 1024
"""Of one file; no platform lets a bot fetch much more."""

MAX_FILES = 10
"""With one message."""

FETCH_SECONDS = 60.0

_NAME_LENGTH = 80
_TRIES = 1000


async def take_in(files: Sequence[Attachment], workspace: Path) -> tuple[list[str], list[str]]:
    """Save files; answers their paths in the workspace, and a line for each that the agent does not get."""
    paths, lines = [], []
    for file in files[:MAX_FILES]:
        try:
            paths.append(await _take(file, workspace))
        except _NotTaken as reason:
            lines.append(f"{printable(file.name, 60) or 'A file'} {reason}, so the agent did not get it.")
    if len(files) > MAX_FILES:
        lines.append(f"Only the first {MAX_FILES} files were taken.")
    return paths, lines


class _NotTaken(Exception):
    """Says why, as the end of a sentence about the file."""


async def _take(file: Attachment, workspace: Path) -> str:
    if file.size > MAX_BYTES:
        raise _NotTaken(_too_big(file.size))
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            content = await file.fetch()
    except OSError:  # TimeoutError is one
        raise _NotTaken("could not be fetched") from None
    if len(content) > MAX_BYTES:
        raise _NotTaken(_too_big(len(content)))
    try:
        return await asyncio.to_thread(_write, workspace, safe_name(file.name), content)
    except OSError:
        raise _NotTaken("could not be saved") from None


def _too_big(count: int) -> str:
    return f"is too big ({size(count)}, at most {size(MAX_BYTES)})"


def safe_name(name: str) -> str:
    """A file's name without folders, without what steers shells or hides files, and not too long."""
    last = re.split(r"[/\\]", name)[-1]
    words = re.sub(r"[^\w.\-+ ()]", "_", printable(last)).strip(" .")
    path = PurePosixPath(words or "file")
    suffix = path.suffix.encode()[:16].decode("utf-8", "ignore")
    stem = path.name.removesuffix(path.suffix).encode()[:_NAME_LENGTH].decode("utf-8", "ignore").strip(" .-")
    return f"{stem or 'file'}{suffix}"


def _write(workspace: Path, name: str, content: bytes) -> str:
    """Write a new file into the inbox; with a number in its name where there is one of that name."""
    for folder in (workspace.parent, workspace):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    inbox = _open_inbox(workspace)
    try:
        handle, taken = _create(inbox, name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
        except OSError:
            os.unlink(taken, dir_fd=inbox)
            raise
        return f"{FOLDER}/{taken}"
    finally:
        os.close(inbox)


def _open_inbox(workspace: Path) -> int:
    base = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(FileExistsError):
            os.mkdir(FOLDER, 0o700, dir_fd=base)
        return os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
    finally:
        os.close(base)


def _create(inbox: int, name: str) -> tuple[int, str]:
    stem, dot, suffix = name.rpartition(".")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    for number in range(1, _TRIES):
        tried = name if number == 1 else f"{stem}-{number}.{suffix}" if dot and stem else f"{name}-{number}"
        try:
            return os.open(tried, flags, 0o600, dir_fd=inbox), tried
        except FileExistsError:
            continue
    raise FileExistsError(name)
