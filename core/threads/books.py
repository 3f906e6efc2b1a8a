"""turnback.db's books: people, the places of platforms, and the house's own records.

The part of the thread store on SQLite that knows nothing of where a thread stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from turnback.core.models import Account, AccountId, AuditEntry, Identity, Post, Surface, ThreadId
from turnback.core.threads import people, posting, records
from turnback.core.threads.accounts import Secret
from turnback.core.threads.guarded import GuardedDatabase
from turnback.core.threads.ledger import AuditFilter, Claim


class SqliteBooks:
    """See `AccountStore`, `PlaceStore` and `Ledger`."""

    def __init__(self, db: GuardedDatabase) -> None:
        self._db = db

    # people and places

    async def create_account(self, account_id: AccountId, name: str, at: datetime, *, admin: bool = False) -> Account:
        return await self._db.write(lambda db: people.create_account(db, account_id, name, at, admin=admin))

    async def find_account(self, account_id: AccountId) -> Account | None:
        return await self._db.read(lambda db: people.find_account(db, account_id))

    async def account_named(self, name: str) -> Account | None:
        return await self._db.read(lambda db: people.find_account_named(db, name))

    async def accounts(self) -> Sequence[Account]:
        return await self._db.read(people.accounts)

    async def set_admin(self, account_id: AccountId, admin: bool) -> None:
        await self._db.write(lambda db: people.set_admin(db, account_id, admin))

    async def set_named(self, account_id: AccountId, named: bool) -> None:
        await self._db.write(lambda db: people.set_named(db, account_id, named))

    async def admins(self, surface: Surface) -> Sequence[str]:
        return await self._db.read(lambda db: people.admins(db, surface))

    async def merge_accounts(self, kept: AccountId, gone: AccountId) -> None:
        await self._db.write(lambda db: people.merge_accounts(db, kept, gone), quick=False)

    async def find_identity(self, surface: Surface, user_key: str) -> Identity | None:
        return await self._db.read(lambda db: people.find_identity(db, surface, user_key))

    async def identities(self, account_id: AccountId | None) -> Sequence[Identity]:
        return await self._db.read(lambda db: people.identities(db, account_id))

    async def add_identity(self, identity: Identity) -> None:
        await self._db.write(lambda db: people.add_identity(db, identity))

    async def bind(self, surface: Surface, place: str, thread_id: ThreadId, account: AccountId | None = None) -> None:
        await self._db.write(lambda db: posting.bind(db, surface, place, thread_id, account))

    async def bound(self, surface: Surface, place: str) -> ThreadId | None:
        return await self._db.read(lambda db: posting.bound(db, surface, place))

    async def places(self, thread_id: ThreadId) -> Sequence[tuple[Surface, str]]:
        return await self._db.read(lambda db: posting.places(db, thread_id))

    async def move_place(self, surface: Surface, old: str, new: str) -> None:
        await self._db.write(lambda db: posting.move_place(db, surface, old, new))

    async def moved_places(self, surface: Surface) -> Mapping[str, str]:
        return await self._db.read(lambda db: posting.moved_places(db, surface))

    async def participants(self, thread_id: ThreadId) -> Collection[AccountId]:
        return await self._db.read(lambda db: posting.participants(db, thread_id))

    async def add_participant(self, thread_id: ThreadId, account: AccountId, surface: Surface, place: str) -> None:
        await self._db.write(lambda db: posting.add_participant(db, thread_id, account, surface, place))

    async def drop_participants(
        self, surface: Surface, place: str, account: AccountId | None
    ) -> Collection[tuple[ThreadId, AccountId]]:
        return await self._db.write(lambda db: posting.drop_participants(db, surface, place, account))

    async def add_post(self, post: Post) -> None:
        await self._db.write(lambda db: posting.add_post(db, post))

    async def find_post(self, surface: Surface, place: str, message: str) -> Post | None:
        return await self._db.read(lambda db: posting.find_post(db, surface, place, message))

    async def posts(self, thread_id: ThreadId, surface: Surface, place: str) -> Sequence[Post]:
        return await self._db.read(lambda db: posting.posts(db, thread_id, surface, place))

    async def drop_posts(self, surface: Surface, place: str, messages: Collection[str]) -> None:
        await self._db.write(lambda db: posting.drop_posts(db, surface, place, messages))

    # secrets

    async def add_secret(self, secret: Secret) -> None:
        await self._db.write(lambda db: people.add_secret(db, secret))

    async def find_secret(self, digest: str) -> Secret | None:
        return await self._db.read(lambda db: people.find_secret(db, digest))

    async def use_secret(self, digest: str, at: datetime) -> bool:
        return await self._db.write(lambda db: people.use_secret(db, digest, at))

    async def drop_secret(self, digest: str) -> bool:
        return await self._db.write(lambda db: people.drop_secret(db, digest))

    async def secrets(self, account: AccountId | None = None) -> Sequence[Secret]:
        return await self._db.read(lambda db: people.secrets(db, account))

    # claims, audit, settings

    async def claim(
        self, surface: Surface, key: str, payload: Mapping[str, Any], at: datetime, *, place: str | None = None
    ) -> bool:
        return await self._db.write(lambda db: records.claim(db, surface, key, payload, at, place))

    async def last_claims(self, surface: Surface, limit: int) -> Sequence[tuple[str, str]]:
        return await self._db.read(lambda db: records.last_claims(db, surface, limit))

    async def start_claim(self, surface: Surface, key: str) -> bool:
        return await self._db.write(lambda db: records.start_claim(db, surface, key))

    async def unstarted_claims(self) -> Sequence[Claim]:
        return await self._db.read(records.unstarted_claims)

    async def drop_stale(self, before: datetime) -> int:
        return await self._db.write(lambda db: records.drop_stale(db, before), quick=False)

    async def audit(self, entry: AuditEntry) -> None:
        await self._db.write(lambda db: records.add_audit(db, entry))

    async def audit_trail(
        self,
        *,
        thread_id: ThreadId | None = None,
        wanted: AuditFilter = AuditFilter(),
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[AuditEntry]:
        return await self._db.read(lambda db: records.audit_trail(db, thread_id, wanted, before, limit))

    async def audit_count(self, wanted: AuditFilter) -> int:
        return await self._db.read(lambda db: records.audit_count(db, wanted), quick=False)

    async def settings(self) -> Mapping[str, Any]:
        return await self._db.read(records.settings)

    async def set_settings(self, changes: Mapping[str, Any], audit: AuditEntry) -> None:
        await self._db.write(lambda db: records.set_settings(db, changes, audit))

    async def note(self, key: str) -> str | None:
        return await self._db.read(lambda db: records.note(db, key))

    async def set_note(self, key: str, value: str) -> None:
        await self._db.write(lambda db: records.set_note(db, key, value))

    async def idempotent(self, thread_id: ThreadId, key: str) -> Mapping[str, Any] | None:
        return await self._db.read(lambda db: records.idempotent(db, thread_id, key))

    async def set_idempotent(self, thread_id: ThreadId, key: str, answer: Mapping[str, Any], at: datetime) -> None:
        await self._db.write(lambda db: records.set_idempotent(db, thread_id, key, answer, at))
