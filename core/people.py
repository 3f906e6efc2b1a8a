"""Who somebody is: accounts, and the secrets that prove them.

Three kinds of secret: tokens (for programs, until dropped), sign-in links (once, for ten minutes)
and sessions (a browser's cookie). Each is 256 random bits, shown once; only its SHA-256 is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import uuid4

from turnback.core.models import Account, AccountId, Action, AuditEntry, Identity, Outcome, Surface
from turnback.core.threads.accounts import NameTaken, Secret
from turnback.core.threads.store import ThreadStore

LINK_MINUTES = 10
"""How long a sign-in link works."""

SESSION_DAYS = 30
"""How long a browser stays signed in."""

LOCAL = "local"
"""The account of whoever sits at the machine and names no other."""

OPERATOR = "operator"
"""The account of the command line, which may do everything."""

LONGEST_SECRET = 128
"""Characters of anything that could be one of our secrets; longer ones are not looked up."""

Kind = Literal["token", "session", "link"]


class LinkState(StrEnum):
    """What a sign-in link is worth."""

    GOOD = "good"
    USED = "used"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A sign-in link as it stands; the account is None for an unknown one."""

    state: LinkState
    account: Account | None


class People:
    """Accounts and their secrets, over a thread store."""

    def __init__(
        self,
        threads: ThreadStore,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str] = lambda: uuid4().hex,
        new_secret: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ) -> None:
        self._threads = threads
        self._clock = clock
        self._new_id = new_id
        self._new_secret = new_secret

    async def ensure_account(self, name: str = LOCAL, admin: bool = False) -> Account:
        """The account of that name, made if need be; with `admin` it is an admin's from now on, whatever the settings
        say.
        """
        account = await self._threads.account_named(name) or await self._create_account(name, admin)
        if admin and (account.named or not account.admin):
            await self._threads.set_admin(account.id, True)
            return await self._get(account.id)
        return account

    async def settle_admins(self, names: Sequence[str]) -> None:
        """Those whom the setting `access.admins` names are admins from now on; who is no more in it, and is no admin in
        their own right, is one no longer. Accounts are made of names that are not those of platform users.
        """
        for name in names:
            if ":" not in name:
                await self.ensure_account(name)
        elsewhere: dict[AccountId, list[Identity]] = {}
        for identity in await self._threads.identities(None):
            elsewhere.setdefault(identity.account, []).append(identity)
        for account in await self._threads.accounts():
            named = is_named(names, account, elsewhere.get(account.id, ()))
            if named is not account.named:
                await self._threads.set_named(account.id, named)

    async def settle_admin(self, account: Account, names: Sequence[str]) -> Account:
        """The same for one account."""
        named = is_named(names, account, await self._threads.identities(account.id))
        if named is account.named:
            return account
        await self._threads.set_named(account.id, named)
        return await self._get(account.id)

    async def create_token(self, account: Account, label: str = "") -> str:
        """A new token for programs; valid until it is dropped."""
        return await self._create(account.id, "token", label, None)

    async def create_link(self, account: Account) -> str:
        """The secret of a new sign-in link."""
        return await self._create(account.id, "link", "", timedelta(minutes=LINK_MINUTES))

    async def create_session(self, account: Account, label: str = "") -> str:
        """The secret of a new browser session."""
        return await self._create(account.id, "session", label, timedelta(days=SESSION_DAYS))

    async def authenticate(self, secret: str, kind: Literal["token", "session"]) -> Account | None:
        """Whose token or session this is; None for one that is unknown, expired or of another kind."""
        row = await self._find(secret, kind)
        if row is None or self._expired(row):
            return None
        return await self._threads.find_account(row.account)

    async def peek_link(self, secret: str) -> Link:
        """What a sign-in link is worth, without using it up."""
        row = await self._find(secret, "link")
        account = await self._threads.find_account(row.account) if row else None
        if row is None or account is None:
            return Link(state=LinkState.UNKNOWN, account=None)
        if row.used_at is not None:
            return Link(state=LinkState.USED, account=account)
        return Link(state=LinkState.EXPIRED if self._expired(row) else LinkState.GOOD, account=account)

    async def use_link(self, secret: str, label: str = "") -> str | None:
        """Use a sign-in link up; answers the secret of the new session, None if the link is not good (any more).

        Of two that use it at the same moment one gets a session. Both are audited. `label` says which browser.
        """
        link = await self.peek_link(secret)
        if link.account is None:
            return None
        good = link.state is LinkState.GOOD and await self._threads.use_secret(_digest(secret), self._clock())
        await self._audit_login(link.account, None if good else link.state)
        return await self.create_session(link.account, label) if good else None

    async def use_link_for(self, secret: str, account: Account) -> bool:
        """Use a sign-in link up to join its account to `account`, who is signed in; False if it is not good.

        Everything of the link's account is `account`'s afterwards.
        """
        link = await self.peek_link(secret)
        if link.account is None:
            return False
        good = link.state is LinkState.GOOD and await self._threads.use_secret(_digest(secret), self._clock())
        await self._audit_login(account, None if good else link.state)
        if good and link.account.id != account.id:
            await self._threads.merge_accounts(account.id, link.account.id)
        return good

    async def end_session(self, session: str) -> bool:
        """Sign a browser out; False if it was not signed in."""
        return await self._threads.drop_secret(_digest(session))

    def digest_of(self, secret: str) -> str:
        """How a secret is known here, to find it among those of `sessions`."""
        return _digest(secret)

    async def sessions(self, account: Account) -> Sequence[Secret]:
        """The browsers where an account is signed in."""
        rows = await self._threads.secrets(account.id)
        return [row for row in rows if row.kind == "session" and not self._expired(row)]

    async def _get(self, account_id: AccountId) -> Account:
        account = await self._threads.find_account(account_id)
        if account is None:
            raise LookupError(f"account {account_id} is gone")
        return account

    async def _create_account(self, name: str, admin: bool) -> Account:
        try:
            return await self._threads.create_account(AccountId(self._new_id()), name, self._clock(), admin=admin)
        except NameTaken:
            # Somebody else made it since we looked: the command line beside a server.
            account = await self._threads.account_named(name)
            assert account is not None
            return account

    async def _create(self, account: AccountId, kind: Kind, label: str, lasts: timedelta | None) -> str:
        secret, now = self._new_secret(), self._clock()
        await self._threads.add_secret(
            Secret(
                digest=_digest(secret),
                kind=kind,
                account=account,
                label=label,
                created_at=now,
                expires_at=now + lasts if lasts else None,
                used_at=None,
            )
        )
        return secret

    async def _find(self, secret: str, kind: Kind) -> Secret | None:
        if not secret or len(secret) > LONGEST_SECRET:
            return None
        row = await self._threads.find_secret(_digest(secret))
        return row if row is not None and row.kind == kind else None

    def _expired(self, row: Secret) -> bool:
        return row.expires_at is not None and row.expires_at <= self._clock()

    async def _audit_login(self, account: Account, refused: LinkState | None) -> None:
        state = LinkState.USED if refused is LinkState.GOOD else refused
        await self._threads.audit(
            AuditEntry(
                at=self._clock(),
                account=account.id,
                actor=account.name,
                surface=Surface.WEB,
                action=Action.LOGIN,
                outcome=Outcome.DONE if state is None else Outcome.REFUSED,
                code=None if state is None else f"link_{state.value}",
            )
        )


def names_of(surface: Surface, user_key: str) -> frozenset[str]:
    """What the settings may call a platform's user, in lower case.

    A user key may begin with the scope that it is unique in, `T0:U1`; people name the user alone, too.
    """
    alone = user_key.rpartition(":")[2]
    return frozenset(f"{surface.value}:{key}".casefold() for key in (user_key, alone))


def is_named(names: Sequence[str], account: Account, identities: Sequence[Identity]) -> bool:
    """Whether `access.admins` names an account, or one of its platform users: never a scope, never all."""
    own = {account.name.casefold()} if ":" not in account.name else set()
    known = own.union(*(names_of(identity.surface, identity.user_key) for identity in identities))
    return not known.isdisjoint(name.casefold() for name in names)


def _digest(secret: str) -> str:
    """A secret has 256 random bits, so that a plain hash is enough: there is nothing to guess from."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
