"""The files that pages are made with: style sheet, scripts, marks.

Their addresses carry a hash of all of them, so that browsers may keep them for ever and still see the
next release at once. Scripts import each other by relative addresses, so the hash is a folder's.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path

from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent.parent / "static"

_VERSIONED = re.compile(r"(?P<version>[0-9a-f]{12})/(?P<name>.+)")
_BLOCK_COMMENT = re.compile(r"^\s*/\*\*.*?\*/$", re.DOTALL | re.MULTILINE)
_FOR_EVER = "public, max-age=31536000, immutable"
_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'"
"""A shared worker goes by the policy of its own file: it may listen to our events. The style is the favicon's."""


def _version_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


VERSION = _version_of(STATIC)
"""Changes with any of the files."""


def asset_url(name: str) -> str:
    """Where a file of `static` is for ever."""
    return f"/static/{VERSION}/{name}"


def squeezed(script: str) -> str:
    """A script without indentation and the lines that are comments, which browsers need not load.

    Our scripts have no text that spans lines, so that no line of one is text.
    """
    lines = (line.strip() for line in _BLOCK_COMMENT.sub("", script).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


class Assets(StaticFiles):
    """The files, under any version: a tab that was open before an upgrade gets today's."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be kept for ever where its version is named."""
        versioned = _VERSIONED.fullmatch(path)
        name = versioned["name"] if versioned else path
        answer = await super().get_response(name, scope)
        if name.endswith(".js") and not name.endswith(".min.js") and isinstance(answer, FileResponse):
            script = await asyncio.to_thread(Path(answer.path).read_text, "utf-8")
            answer = Response(squeezed(script), media_type="text/javascript")
        current = versioned is not None and versioned["version"] == VERSION
        answer.headers["Cache-Control"] = _FOR_EVER if current else "no-cache"
        answer.headers["Content-Security-Policy"] = _POLICY
        return answer
