"""Who somebody on a platform is to us: their account, made on the first contact that `access` allows.

An account that is made here is called after the person and their platform, `Ann (chat)`. The bare name
would be a trap: people choose what they are called, and the command line makes accounts, admins' too, by
bare names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from turnback.bots.platform import Person
from turnback.bots.words import printable
from turnback.core.locks import Locks
from turnback.core.models import Account, AccountId, Actor, Identity
from turnback.core.people import names_of
from turnback.core.service import Turnback
from turnback.core.threads.accounts import NameTaken

NAME_LENGTH = 60


class PlatformPeople:
    """Makes actors of persons. `admins` and `allow` are `access.*`, asked anew at each use; without `admins` nobody
    becomes or ceases to be one here.
    """

    def __init__(
        self,
        service: Turnback,
        *,
        admins: Callable[[], Sequence[str]] | None,
        allow: Callable[[], Sequence[str]],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._threads = service.threads
        self._people = service.people
        self._admins = admins
        self._allow = allow
        self._clock = clock
        self._new_id = new_id
        self._locks = Locks()

    async def actor(self, person: Person, *, place: str | None = None, platform_admin: bool = False) -> Actor | None:
        """Who asks; None if they may not use the bot. Makes them an account if they have none."""
        async with self._locks.hold(person.identity):
            identity = await self._threads.find_identity(person.surface, person.user_key)
            account = await self._threads.find_account(identity.account) if identity else None
            if account is not None:
                account = await self._settled(account, person)
            admin = account.admin if account is not None else self._is_named(person)
            if not (admin or is_allowed(self._allow(), person)):
                return None
            name = shown_name(person)
            if account is None:
                account = await self._create(person, name)
            if identity is None or identity.name != name:
                await self._threads.add_identity(
                    Identity(surface=person.surface, user_key=person.user_key, account=account.id, name=name)
                )
            if identity is None:
                account = await self._settled(account, person)
        return Actor(
            account=account.id,
            surface=person.surface,
            admin=account.admin,
            name=name,
            identity=person.identity,
            platform_admin=platform_admin,
            place=place,
        )

    def _is_named(self, person: Person) -> bool:
        return self._admins is not None and is_admin(self._admins(), person)

    async def _settled(self, account: Account, person: Person) -> Account:
        """The account, with the admin's right if the settings name one of its users now, without if none any more."""
        if self._admins is None or self._is_named(person) is account.named:
            return account
        return await self._people.settle_admin(account, self._admins())

    async def _create(self, person: Person, name: str) -> Account:
        for called in _account_names(person, name):
            try:
                return await self._threads.create_account(AccountId(self._new_id()), called, self._clock())
            except NameTaken:
                continue
        raise AssertionError("names without end were all taken")


def shown_name(person: Person) -> str:
    """What somebody is called in a chat; what they are known by, where they have no name that shows."""
    return printable(person.name, NAME_LENGTH) or person.identity


def is_admin(admins: Sequence[str], person: Person) -> bool:
    """Whether `access.admins` names this person: never a scope, never all."""
    return not names_of(person.surface, person.user_key).isdisjoint(name.casefold() for name in admins)


def is_allowed(allow: Sequence[str], person: Person) -> bool:
    """Whether `access.allow` names this person, a scope of theirs, or all."""
    names = names_of(person.surface, person.user_key) | {scope.casefold() for scope in person.scopes}
    for pattern in map(str.casefold, allow):
        if pattern in names or (pattern.endswith(":*") and any(name.startswith(pattern[:-1]) for name in names)):
            return True
    return False


def _account_names(person: Person, name: str) -> Iterator[str]:
    yield f"{name} ({person.surface.value})"
    yield f"{name} ({person.identity})"
    number = 2
    while True:
        yield f"{name} ({person.identity}, {number})"
        number += 1
