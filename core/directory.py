"""The people of an installation as an admin sees them: accounts, who they are elsewhere, and the tokens of programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from turnback.core.errors import Forbidden, InvalidRequest, NotFound
from turnback.core.models import Account, AccountId, Action, Actor, AuditEntry, Identity
from turnback.core.people import OPERATOR, People
from turnback.core.text import harmless
from turnback.core.threads.accounts import Secret
from turnback.core.threads.store import ThreadStore

LONGEST_NAME = 80
"""Characters of an account's name and of a token's label, given here."""

HANDLE = 16
"""Characters of its digest that name a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An account; `tokens` and `sessions` count what it is signed in with now."""

    account: Account
    identities: tuple[Identity, ...]
    tokens: int
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of a program. `handle` names it, and proves nothing."""

    handle: str
    account: Account
    label: str
    created_at: datetime


class Directory:
    """What admins ask and do about people. Each refuses everybody else."""

    def __init__(self, threads: ThreadStore, people: People, clock: Callable[[], datetime]) -> None:
        self._threads = threads
        self._people = people
        self._clock = clock

    async def everybody(self, actor: Actor) -> Sequence[Known]:
        """Every account, admins first, then by name."""
        _check_admin(actor)
        now = self._clock()
        elsewhere = defaultdict(list)
        for identity in await self._threads.identities(None):
            elsewhere[identity.account].append(identity)
        valid = (s for s in await self._threads.secrets() if s.expires_at is None or s.expires_at > now)
        held = Counter((secret.account, secret.kind) for secret in valid)
        known = [
            Known(
                account=account,
                identities=tuple(elsewhere[account.id]),
                tokens=held[account.id, "token"],
                sessions=held[account.id, "session"],
            )
            for account in await self._threads.accounts()
        ]
        return sorted(known, key=lambda k: (not k.account.admin, k.account.name.casefold()))

    async def set_admin(self, actor: Actor, account_id: str, admin: bool) -> Account:
        """Make somebody an admin in their own right, or one no longer, from the next thing on that they do.

        Nobody takes it from themselves, so that an admin is always left; raises InvalidRequest.
        """
        _check_admin(actor)
        account = await self._threads.find_account(AccountId(account_id))
        if account is None:
            raise NotFound("There is no such account (any more).")
        if not admin:
            _check_demotable(account, actor)
        await self._threads.set_admin(account.id, admin)
        await self._threads.audit(self._entry(actor, f"admin_{'given' if admin else 'taken'}:{account.name}"))
        return account

    async def tokens(self, actor: Actor) -> Sequence[Token]:
        """Every token that is valid, newest first."""
        _check_admin(actor)
        accounts = {account.id: account for account in await self._threads.accounts()}
        rows = [row for row in await self._threads.secrets() if row.kind == "token" and row.account in accounts]
        return [
            Token(
                handle=row.digest[:HANDLE],
                account=accounts[row.account],
                label=row.label,
                created_at=row.created_at,
            )
            for row in reversed(rows)
        ]

    async def issue_token(self, actor: Actor, account: str, label: str = "") -> str:
        """A new token for the account of that name, which is made if need be. It can be read only now."""
        _check_admin(actor)
        name, label = _one_line(account, "account"), _one_line(label, "label")
        if not name:
            raise InvalidRequest("account: name the account that the token is for.")
        token = await self._people.create_token(await self._people.ensure_account(name), label)
        await self._threads.audit(self._entry(actor, "token_made"))
        return token

    async def revoke_token(self, actor: Actor, handle: str) -> Secret:
        """Drop a token; who uses it is turned away from now on."""
        _check_admin(actor)
        for row in await self._threads.secrets():
            if row.kind == "token" and row.digest[:HANDLE] == handle and await self._threads.drop_secret(row.digest):
                await self._threads.audit(self._entry(actor, "token_revoked"))
                return row
        raise NotFound("That token is gone already.")

    def _entry(self, actor: Actor, what: str) -> AuditEntry:
        return AuditEntry(
            at=self._clock(),
            account=actor.account,
            actor=actor.identity or actor.name or actor.account,
            surface=actor.surface,
            action=Action.SETTINGS,
            code=what,
        )


def _check_admin(actor: Actor) -> None:
    if not actor.admin:
        raise Forbidden("Only an admin may see and change who has access.")


def _check_demotable(account: Account, actor: Actor) -> None:
    if account.id == actor.account:
        raise InvalidRequest("You cannot take this from yourself. Ask another admin.")
    if account.name == OPERATOR:
        raise InvalidRequest("This account is the command line’s own.")
    if account.named:
        raise InvalidRequest("access.admins names this account: take it out there.")


def _one_line(text: str, field: str) -> str:
    """A name as people can read it back; nothing in it can turn a line around or break it."""
    name = " ".join(text.split())
    if len(name) > LONGEST_NAME:
        raise InvalidRequest(f"{field}: at most {LONGEST_NAME} characters.")
    if harmless(name) != name or not name.isprintable():
        raise InvalidRequest(f"{field}: letters, digits and signs that can be seen, please.")
    return name
