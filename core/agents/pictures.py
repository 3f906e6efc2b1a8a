"""Pictures that came with a message, as a model is shown them.

The requests of that message's turn hold them, and no state does: it keeps the words, which name the
file. What a file is goes by how it begins, since its name may say anything and providers look closer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserContent, UserPromptPart

from turnback.core.agents.tools.files import find_bytes

MAX_BYTES = 5 * 1024 * 1024
"""Of one picture; the least that the common providers take."""

UNSEEN = "You cannot see the pictures that came with this message. Say so where it matters."

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

_REFUSED = frozenset({400, 404, 413, 415, 422, 500, 501})
"""How servers answer a picture that their model cannot take: no two alike."""


def find_pictures(workspace: Path, files: Sequence[str]) -> tuple[BinaryContent, ...]:
    """Those of the files that are pictures a model can be shown. Reads them whole: not for the event loop."""
    found = ((data, _kind(data)) for path in files if (data := find_bytes(workspace, path, MAX_BYTES)))
    return tuple(BinaryContent(data, media_type=kind) for data, kind in found if kind)


def prompt(text: str, pictures: Sequence[BinaryContent]) -> str | Sequence[UserContent]:
    """A user's words with pictures."""
    return [text, *pictures] if pictures else text


def without_pictures(message: ModelMessage, pictures: Sequence[BinaryContent]) -> ModelMessage:
    """The message with the words alone, as it is stored."""
    if not pictures or not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=[_words(p, pictures) if isinstance(p, UserPromptPart) else p for p in message.parts])


def refused(error: ModelHTTPError) -> bool:
    """Whether it may be for the pictures that a server refused a request."""
    return error.status_code in _REFUSED


def _words(part: UserPromptPart, pictures: Sequence[BinaryContent]) -> UserPromptPart:
    if isinstance(part.content, str):
        return part
    match [item for item in part.content if item not in pictures]:
        case [str(text)]:
            return replace(part, content=text)
        case rest:
            return replace(part, content=rest)


def _kind(data: bytes) -> str | None:
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)
