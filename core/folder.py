"""The data folder belongs to one running service at a time.

Held by a lock of the operating system, which ends with its process however that dies; the file of
the lock stays, since removing it would let two processes lock two different files.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

THREADS_FILE = "turnback.db"
STEPS_FILE = "steps.db"
WORKSPACES = "workspaces"
LOCK_NAME = "turnback.lock"


class FolderBusy(Exception):
    """Another process works on this data folder."""

    def __init__(self, folder: Path, pid: str) -> None:
        by = f" (process {pid})" if pid else ""
        super().__init__(f"{folder} is in use by another Turnback{by}; stop that one, or choose another --data")


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the folder, made if need be. Raises FolderBusy, and OSError where it cannot be used."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderBusy(folder, os.read(descriptor, 20).decode("ascii", "replace").strip()) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
