"""`server.json`: how the command line finds the server that works on a data folder.

It holds the server's address and the secret of an admin's token, readable by the owner of the folder
only; it goes when the server ends. One that a killed server left behind answers to nobody and is
taken for none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import orjson

NAME = "server.json"

PROBE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs: where, and the token that opens it."""

    url: str
    token: str


@contextlib.contextmanager
def announced(folder: Path, server: Server) -> Iterator[None]:
    """Leave the file while the server runs; it appears whole."""
    path = folder / NAME
    part = folder / f".{NAME}.{os.getpid()}"
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(orjson.dumps({"url": server.url, "token": server.token, "pid": os.getpid()}))
    part.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def find_server(folder: Path) -> Server | None:
    """The server of this folder, if one runs and answers."""
    server = read_server(folder)
    if server is None:
        return None
    try:
        async with httpx2.AsyncClient(base_url=server.url, timeout=PROBE_SECONDS, trust_env=False) as client:
            return server if (await client.get("/healthz")).is_success else None
    except httpx2.HTTPError:
        return None


def read_server(folder: Path) -> Server | None:
    """What the file says, true or stale; None without one that can be read."""
    try:
        content = orjson.loads((folder / NAME).read_bytes())
        return Server(url=str(content["url"]), token=str(content["token"]))
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return None
