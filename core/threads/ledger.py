"""What the thread store writes down beside threads: claims of updates, the audit trail, settings, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnback.core.models import AuditEntry, Surface, ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An update of a platform, claimed by its id before anything ran, with its payload while it has not started."""

    surface: Surface
    key: str
    payload: Mapping[str, Any]
    started: bool
    created_at: datetime


class Ledger(Protocol):
    """The part of `ThreadStore` that keeps the house's own records; each method is one transaction."""

    async def claim(self, surface: Surface, key: str, payload: Mapping[str, Any], at: datetime) -> bool:
        """Claim an update; False if somebody did before. Durable when this returns."""
        ...

    async def start_claim(self, surface: Surface, key: str) -> bool:
        """Mark a claim as started, and let go of its payload, which holds people's words; False if it was."""
        ...

    async def unstarted_claims(self) -> Sequence[Claim]: ...
    async def drop_stale(self, before: datetime) -> int:
        """Drop claims and idempotent answers made before a time, and secrets that expired before it."""
        ...

    async def audit(self, entry: AuditEntry) -> None: ...
    async def audit_trail(self, *, thread_id: ThreadId | None = None, limit: int = 100) -> Sequence[AuditEntry]:
        """Newest first."""
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
