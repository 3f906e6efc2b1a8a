"""What the thread store knows of people: accounts, who they are elsewhere, and their secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from turnback.core.models import Account, AccountId, Identity, Surface


class NameTaken(Exception):
    """There is an account of this name, in other letters perhaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A token, session or sign-in link, known by its SHA-256 only."""

    digest: str
    kind: Literal["token", "session", "link"]
    account: AccountId
    label: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


class AccountStore(Protocol):
    """The part of `ThreadStore` that is about people; each method is one transaction."""

    async def create_account(
        self, account_id: AccountId, name: str, at: datetime, *, admin: bool = False
    ) -> Account: ...
    async def find_account(self, account_id: AccountId) -> Account | None: ...
    async def account_named(self, name: str) -> Account | None: ...
    async def accounts(self) -> Sequence[Account]: ...
    async def set_admin(self, account_id: AccountId, admin: bool) -> None:
        """An admin in their own right, whatever the settings say."""
        ...

    async def set_named(self, account_id: AccountId, named: bool) -> None:
        """An admin, too, as long as the settings name them."""
        ...

    async def admins(self, surface: Surface) -> Sequence[str]:
        """The user keys of a platform's users whose accounts are admins."""
        ...

    async def merge_accounts(self, kept: AccountId, gone: AccountId) -> None:
        """Two accounts turn out to be one person: all that is `gone`'s (threads, participation, identities,
        secrets, the admin's right) becomes `kept`'s, and `gone` is no more."""
        ...

    async def find_identity(self, surface: Surface, user_key: str) -> Identity | None: ...
    async def identities(self, account_id: AccountId | None) -> Sequence[Identity]:
        """An account's, by surface and user; None: everybody's."""
        ...

    async def add_identity(self, identity: Identity) -> None: ...

    # secrets
    async def add_secret(self, secret: Secret) -> None: ...
    async def find_secret(self, digest: str) -> Secret | None: ...
    async def use_secret(self, digest: str, at: datetime) -> bool:
        """Use a link up; False if it was used before."""
        ...

    async def drop_secret(self, digest: str) -> bool: ...
    async def secrets(self, account: AccountId | None = None) -> Sequence[Secret]: ...
