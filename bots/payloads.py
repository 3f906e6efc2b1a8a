"""Commands as the short payloads of buttons: ids are packed, everything else stays as it is typed.

A button's payload is all that is left of it after a restart, so it holds the whole command. An id of
32 hex digits takes 23 characters (`~` and base64url, RFC 4648 section 5) instead, so that two of them fit
into the 64 bytes that Telegram allows.
"""

from __future__ import annotations

import base64
import binascii
import re

_ID = re.compile(r"(?<!\S)[0-9a-f]{32}(?!\S)")
_PACKED = re.compile(r"(?<!\S)~([A-Za-z0-9_-]{22})(?!\S)")


def pack(command: str) -> str:
    """A command with its ids packed. Words that look packed already are left to `fits` to refuse."""
    return _ID.sub(lambda match: "~" + _encoded(match[0]), command)


def unpack(payload: str) -> str:
    """The command that `pack` packed. What nobody packed stays as it is."""
    return _PACKED.sub(lambda match: _decoded(match[1]) or match[0], payload)


def fits(command: str, limit: int) -> bool:
    """Whether a command survives as a payload of at most `limit` bytes of UTF-8."""
    packed = pack(command)
    return 0 < len(packed.encode("utf-8", "replace")) <= limit and unpack(packed) == command


def _encoded(digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digits)).rstrip(b"=").decode()


def _decoded(text: str) -> str | None:
    try:
        digits = base64.urlsafe_b64decode(text + "==").hex()
    except (binascii.Error, ValueError):
        return None
    return digits if _encoded(digits) == text else None
