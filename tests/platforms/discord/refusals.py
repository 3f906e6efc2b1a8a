"""How the simulated Discord says no.

A *wrong* call is one that a correct bot never makes: it is refused and counted as a violation. A *missing*
thing or a *forbidden* place is a fact of the world that a correct bot may run into; it is refused only.
Codes: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from platforms.core import Json

Path = tuple[str | int, ...]


class Refused(Exception):
    """An answer with an error body."""

    def __init__(self, status: int, code: int, text: str, *, violation: bool = False, **more: Any) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.violation = status, code, text, violation
        self.body: Json = {"message": text, "code": code, **more}
        self.headers: dict[str, str] = {}

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        fields = "; ".join(_flat(self.body.get("errors", {}), ()))
        return f"{self.code} {self.text}" + (f": {fields}" if fields else "")


def wrong(code: int, text: str, status: int = 400) -> Refused:
    return Refused(status, code, text, violation=True)


def missing(code: int, what: str) -> Refused:
    return Refused(404, code, f"Unknown {what}")


def forbidden(code: int, text: str) -> Refused:
    return Refused(403, code, text)


def too_many(seconds: float, *, violation: bool = False) -> Refused:
    """A 429 as the API itself gives it; what comes without `Via` is from the gatekeeper before it."""
    refused = Refused(
        429,
        0,
        "You are being rate limited.",
        violation=violation,
        retry_after=round(seconds, 3),
        **{"global": False},
    )
    refused.headers = {"Retry-After": str(max(1, round(seconds + 0.5))), "X-RateLimit-Scope": "user"}
    return refused


class Problems:
    """What is wrong with a form, field by field."""

    def __init__(self) -> None:
        self._errors: Json = {}

    def add(self, path: Path, code: str, message: str) -> None:
        node = self._errors
        for part in path:
            node = node.setdefault(str(part), {})
        node.setdefault("_errors", []).append({"code": code, "message": message})

    def length(self, path: Path, value: Any, low: int, high: int) -> None:
        """A string or list of `low` to `high`; strings are counted in code points. None is empty."""
        if not value and low:
            self.add(path, "BASE_TYPE_REQUIRED", "This field is required")
        elif value is not None and len(value) > high:
            limit = f"Must be {high} or fewer in length." if not low else f"Must be between {low} and {high} in length."
            self.add(path, "BASE_TYPE_BAD_LENGTH", limit)

    def choice(self, path: Path, value: Any, allowed: tuple[Any, ...]) -> None:
        if value not in allowed:
            self.add(path, "BASE_TYPE_CHOICES", f"Value must be one of {{{', '.join(map(str, allowed))}}}.")

    def refuse(self) -> None:
        """Raise 50035 if anything was added."""
        if self._errors:
            raise Refused(400, 50035, "Invalid Form Body", violation=True, errors=self._errors)


def _flat(node: Json, path: Path) -> Iterator[str]:
    for key, value in node.items():
        if key == "_errors":
            yield from (f"{'.'.join(map(str, path))}: {error['message']}" for error in value)
        else:
            yield from _flat(value, (*path, key))
