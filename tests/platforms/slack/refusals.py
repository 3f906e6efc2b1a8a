"""How the simulated Slack says no.

A *wrong* call is one that a correct app never makes: it is refused and counted as a violation. A *missing*
thing or a closed place is a fact of the world that a correct app may run into; it is refused only. Nearly
all refusals come with HTTP status 200 and "ok": false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from platforms.core import Json


class Refused(Exception):
    """An answer with "ok": false."""

    def __init__(
        self,
        error: str,
        *,
        violation: bool = False,
        status: int = 200,
        retry_after: int = 0,
        messages: Sequence[str] = (),
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.error, self.violation, self.status, self.retry_after = error, violation, status, retry_after
        self.messages, self.extra = list(messages), dict(extra or {})

    @property
    def sentence(self) -> str:
        """The error and what Slack says about it."""
        details = [*self.messages, *(f"{name} {value}" for name, value in self.extra.items())]
        return f"{self.error}: {'; '.join(details)}" if details else self.error

    def body(self) -> Json:
        body: Json = {"ok": False, "error": self.error, **self.extra}
        return body | ({"response_metadata": {"messages": self.messages}} if self.messages else {})

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)} if self.retry_after else {}


def wrong(error: str, *messages: str, **extra: str) -> Refused:
    return Refused(error, violation=True, messages=messages, extra=extra)


def missing(error: str) -> Refused:
    return Refused(error)


def too_many(seconds: float) -> Refused:
    return Refused("ratelimited", status=429, retry_after=max(1, math.ceil(seconds)))
