"""How the simulated Bot API says no.

A *wrong* call is one that a correct bot never makes: it is refused and counted as a violation. A *missing*
thing or a *forbidden* place is a fact of the world that a correct bot may run into; it is refused only.
"""

from __future__ import annotations

import math

from platforms.core import Json


class Refused(Exception):
    """An answer with "ok": false."""

    def __init__(self, code: int, text: str, *, violation: bool = False, **parameters: int) -> None:
        super().__init__(text)
        self.code, self.text, self.violation, self.parameters = code, text, violation, parameters

    def body(self) -> Json:
        body: Json = {"ok": False, "error_code": self.code, "description": self.text}
        return body | ({"parameters": self.parameters} if self.parameters else {})


def wrong(text: str) -> Refused:
    return Refused(400, f"Bad Request: {text}", violation=True)


def missing(text: str) -> Refused:
    return Refused(400, f"Bad Request: {text}")


def migrated(new_id: int) -> Refused:
    text = "Bad Request: group chat was upgraded to a supergroup chat"
    return Refused(400, text, migrate_to_chat_id=new_id)


def forbidden(text: str) -> Refused:
    return Refused(403, f"Forbidden: {text}")


def too_many(seconds: float, *, violation: bool = False) -> Refused:
    wait = max(1, math.ceil(seconds))
    return Refused(429, f"Too Many Requests: retry after {wait}", violation=violation, retry_after=wait)
