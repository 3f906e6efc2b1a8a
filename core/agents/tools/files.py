"""Files of the workspace, and of nothing else.

A path is walked one name at a time from the workspace's own descriptor, never following a link
(openat with O_NOFOLLOW), so that a link planted meanwhile leads nowhere. Links are listed and can be
deleted, not gone through.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic_ai.exceptions import ToolFailed

from turnback.core.agents.work import ToolContext
from turnback.core.text import well_formed

MAX_READ = 262_144
"""Bytes of a file that a model is shown."""

MAX_LISTED = 1000
"""Names of a folder that a model is shown."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_file(ctx: ToolContext, path: str) -> str:
    """Read a text file.

    Args:
        path: Where it is, from the workspace.
    """
    with _said(path), _parent(ctx.deps.context.workspace, path) as (folder, name):
        descriptor = _open(folder, name, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            data = file.read(MAX_READ)
    text = well_formed(data.decode("utf-8", "replace"))
    return text if size <= MAX_READ else f"{text}\n[the first {MAX_READ} of {size} bytes]"


def list_files(ctx: ToolContext, path: str = ".") -> str:
    """List a folder, one name a line; folders end with a slash.

    Args:
        path: Which folder, from the workspace.
    """
    with _said(path), _folder(ctx.deps.context.workspace, _names(path)) as folder, os.scandir(folder) as entries:
        names = sorted(well_formed(e.name) + ("/" if e.is_dir(follow_symlinks=False) else "") for e in entries)
    over = len(names) - MAX_LISTED
    lines = [*names[:MAX_LISTED], f"[and {over} more]"] if over > 0 else names
    return "\n".join(lines) or "(empty)"


def write_file(ctx: ToolContext, path: str, text: str) -> str:
    """Write a text file, in place of the one that is there; folders on its way are made.

    Args:
        path: Where, from the workspace.
        text: All that the file will hold.
    """
    with _said(path), _parent(ctx.deps.context.workspace, path, make=True) as (folder, name):
        _replace(folder, name, well_formed(text).encode())
    return f"wrote {path}"


def append_file(ctx: ToolContext, path: str, text: str) -> str:
    """Add text at the end of a file, which is made if need be.

    Args:
        path: Where, from the workspace.
        text: What to add.
    """
    with _said(path), _parent(ctx.deps.context.workspace, path, make=True) as (folder, name):
        descriptor = _open(folder, name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "ab") as file:
            file.write(well_formed(text).encode())
    return f"appended to {path}"


def delete_file(ctx: ToolContext, path: str) -> str:
    """Delete a file, or a link.

    Args:
        path: Which, from the workspace.
    """
    with _said(path), _parent(ctx.deps.context.workspace, path) as (folder, name):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            raise ToolFailed(f"{path} is a folder")
        os.unlink(name, dir_fd=folder)
    return f"deleted {path}"


def find_bytes(workspace: Path, path: str, most: int) -> bytes | None:
    """All of a plain file of the workspace; None where there is none, or it has over `most` bytes."""
    try:
        with _parent(workspace, path) as (folder, name):
            descriptor = _open(folder, name, os.O_RDONLY)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(most + 1)
    except (OSError, ToolFailed):
        return None
    return data if len(data) <= most else None


def _names(path: str) -> list[str]:
    pure = PurePosixPath(path.strip())
    if pure.is_absolute():
        raise ToolFailed(f"{path} is not in the workspace: give a path from the workspace")
    if ".." in pure.parts:
        raise ToolFailed(f"{path} is not in the workspace: it may not contain ..")
    if "\0" in path:
        raise ToolFailed("a path holds no NUL")
    return [name for name in pure.parts if name != "."]


@contextlib.contextmanager
def _folder(workspace: Path, names: list[str], *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder; `make`: with those on the way that are missing."""
    folder = os.open(workspace, _FOLDER)
    try:
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o777, dir_fd=folder)
            inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


@contextlib.contextmanager
def _parent(workspace: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    names = _names(path)
    if not names:
        raise ToolFailed("name a file")
    with _folder(workspace, names[:-1], make=make) as folder:
        yield folder, names[-1]


def _open(folder: int, name: str, flags: int) -> int:
    """A descriptor of a plain file: a pipe or a device would hold the agent."""
    descriptor = os.open(name, flags | _FILE, 0o666, dir_fd=folder)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "not a file")


def _replace(folder: int, name: str, data: bytes) -> None:
    """Write beside and rename: readers see the old bytes or the new ones, other names of the old file keep them."""
    mode = None
    with contextlib.suppress(FileNotFoundError):
        before = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
        status = os.fstat(before)
        os.close(before)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL, "not a file")
        mode = stat.S_IMODE(status.st_mode)
    beside = f".{os.urandom(8).hex()}.part"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise


@contextlib.contextmanager
def _said(path: str) -> Iterator[None]:
    """The system's errors as plain lines."""
    try:
        yield
    except FileNotFoundError:
        raise ToolFailed(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ToolFailed(f"{path} is a folder") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolFailed(f"{path}: a link, or no folder, is in the way; links are not followed") from None
        if error.errno == errno.EINVAL:
            raise ToolFailed(f"{path} is not a plain file") from None
        raise ToolFailed(f"{path}: {(error.strerror or 'cannot be used').lower()}") from None
