"""What the thread store writes down beside threads: claims of updates, the audit trail, settings, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnback.core.models import Action, AuditEntry, Outcome, Surface, ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An update of a platform, claimed by its id before anything ran, with its payload while it has not started."""

    surface: Surface
    key: str
    payload: Mapping[str, Any]
    started: bool
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which lines of the audit trail are wanted; what is None does not matter.

    `actor` is part of the name or identity that somebody acted under, or of their account's name; `chat` the
    beginning of a thread's id, or part of its title. Case does not matter to either, in ASCII letters at
    least. `since` is included, `until` is not.
    """

    actor: str | None = None
    chat: str | None = None
    surface: Surface | None = None
    action: Action | None = None
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


class Ledger(Protocol):
    """The part of `ThreadStore` that keeps the house's own records; each method is one transaction."""

    async def claim(
        self, surface: Surface, key: str, payload: Mapping[str, Any], at: datetime, *, place: str | None = None
    ) -> bool:
        """Claim an update; False if somebody did before. Durable when this returns. `place`: where it came from,
        of which this then is the last claim."""
        ...

    async def last_claims(self, surface: Surface, limit: int) -> Sequence[tuple[str, str]]:
        """The places that claims came from, each with the key of its last one, the newest first. They outlive
        their claims."""
        ...

    async def start_claim(self, surface: Surface, key: str) -> bool:
        """Mark a claim as started, and let go of its payload, which holds people's words; False if it was."""
        ...

    async def unstarted_claims(self) -> Sequence[Claim]: ...
    async def drop_stale(self, before: datetime) -> int:
        """Drop claims and idempotent answers made before a time, and secrets that expired before it."""
        ...

    async def audit(self, entry: AuditEntry) -> None: ...
    async def audit_trail(
        self,
        *,
        thread_id: ThreadId | None = None,
        wanted: AuditFilter = AuditFilter(),
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[AuditEntry]:
        """Newest first; with `before` only lines of a smaller number, so that the last line's leads to the next."""
        ...

    async def audit_count(self, wanted: AuditFilter) -> int:
        """How many lines are wanted."""
        ...

    async def settings(self) -> Mapping[str, Any]:
        """Settings changed at run time, by key."""
        ...

    async def set_settings(self, changes: Mapping[str, Any], audit: AuditEntry) -> None:
        """A value of None takes the change back."""
        ...

    async def note(self, key: str) -> str | None:
        """A small durable note of the service's own, such as the time of the last clean-up."""
        ...

    async def set_note(self, key: str, value: str) -> None: ...
    async def idempotent(self, thread_id: ThreadId, key: str) -> Mapping[str, Any] | None:
        """The answer given before under this Idempotency-Key."""
        ...

    async def set_idempotent(self, thread_id: ThreadId, key: str, answer: Mapping[str, Any], at: datetime) -> None: ...
