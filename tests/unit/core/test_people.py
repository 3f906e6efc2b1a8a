"""Accounts, tokens, links and sessions, on a real turnback.db."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from support.world import Clock

from turnback.core.models import Action, Identity, Outcome, Surface, ThreadId
from turnback.core.people import LINK_MINUTES, SESSION_DAYS, LinkState, People
from turnback.core.threads.sqlite import SqliteThreadStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteThreadStore]:
    opened = await SqliteThreadStore.open(tmp_path / "turnback.db")
    yield opened
    await opened.close()


@pytest.fixture
def people(store: SqliteThreadStore, clock: Clock) -> People:
    return People(store, clock=clock)


async def test_ensure_account_twice_is_the_same_account(people: People) -> None:
    assert await people.ensure_account("ann") == await people.ensure_account("ann")


async def test_ensure_account_as_admin_makes_an_admin_of_it(people: People) -> None:
    assert not (await people.ensure_account("ann")).admin
    assert (await people.ensure_account("ann", admin=True)).admin
    assert (await people.ensure_account("ann")).admin


async def test_ensure_account_at_once_makes_one(people: People, store: SqliteThreadStore) -> None:
    made = await asyncio.gather(*(people.ensure_account("ann") for _ in range(5)))
    assert len({account.id for account in made}) == 1
    assert len(await store.accounts()) == 1


async def test_token_authenticates_its_account(people: People) -> None:
    ann = await people.ensure_account("ann")
    token = await people.create_token(ann, "laptop")
    assert await people.authenticate(token, "token") == ann


async def test_secret_of_another_kind_does_not_authenticate(people: People) -> None:
    ann = await people.ensure_account("ann")
    token, session, link = (
        await people.create_token(ann),
        await people.create_session(ann),
        await people.create_link(ann),
    )
    assert await people.authenticate(token, "session") is None
    assert await people.authenticate(session, "token") is None
    assert await people.authenticate(link, "token") is None
    assert await people.authenticate(link, "session") is None


@pytest.mark.parametrize("secret", ["", "nonsense", "x" * 5000, "\ud83d"])
async def test_unknown_secret_does_not_authenticate(people: People, secret: str) -> None:
    await people.create_token(await people.ensure_account("ann"))
    assert await people.authenticate(secret, "token") is None


async def test_secrets_are_stored_as_digests_only(people: People, tmp_path: Path) -> None:
    ann = await people.ensure_account("ann")
    secrets = [await people.create_token(ann), await people.create_session(ann), await people.create_link(ann)]
    on_disk = b"".join(file.read_bytes() for file in tmp_path.glob("turnback.db*"))
    assert not [secret for secret in secrets if secret.encode() in on_disk]


async def test_session_ends_after_its_days(people: People, clock: Clock) -> None:
    session = await people.create_session(await people.ensure_account("ann"))
    clock.advance(days=SESSION_DAYS, seconds=-5)
    assert await people.authenticate(session, "session") is not None
    clock.advance(seconds=5)
    assert await people.authenticate(session, "session") is None


async def test_end_session_signs_out(people: People) -> None:
    ann = await people.ensure_account("ann")
    session = await people.create_session(ann)
    assert len(await people.sessions(ann)) == 1
    assert await people.end_session(session)
    assert await people.authenticate(session, "session") is None
    assert not await people.end_session(session)
    assert not await people.sessions(ann)


async def test_peek_link_does_not_use_it_up(people: People) -> None:
    ann = await people.ensure_account("ann")
    link = await people.create_link(ann)
    for _ in range(3):
        peeked = await people.peek_link(link)
        assert (peeked.state, peeked.account) == (LinkState.GOOD, ann)


async def test_use_link_gives_a_session_once(people: People) -> None:
    ann = await people.ensure_account("ann")
    link = await people.create_link(ann)
    session = await people.use_link(link)
    assert session is not None
    assert await people.authenticate(session, "session") == ann
    assert await people.use_link(link) is None
    assert (await people.peek_link(link)).state is LinkState.USED


async def test_use_link_at_once_gives_one_session(people: People) -> None:
    link = await people.create_link(await people.ensure_account("ann"))
    sessions = await asyncio.gather(*(people.use_link(link) for _ in range(5)))
    assert sum(session is not None for session in sessions) == 1


async def test_expired_link_is_refused(people: People, clock: Clock) -> None:
    link = await people.create_link(await people.ensure_account("ann"))
    clock.advance(minutes=LINK_MINUTES)
    assert (await people.peek_link(link)).state is LinkState.EXPIRED
    assert await people.use_link(link) is None


async def test_unknown_link_is_unknown(people: People) -> None:
    token = await people.create_token(await people.ensure_account("ann"))
    assert (await people.peek_link(token)).state is LinkState.UNKNOWN
    assert await people.use_link("nonsense") is None


async def test_sign_ins_are_audited(people: People, store: SqliteThreadStore) -> None:
    ann = await people.ensure_account("ann")
    link = await people.create_link(ann)
    await people.use_link(link)
    await people.use_link(link)
    refused, done = await store.audit_trail()
    assert (done.action, done.outcome, done.account, done.surface) == (
        Action.LOGIN,
        Outcome.DONE,
        ann.id,
        Surface.WEB,
    )
    assert (refused.outcome, refused.code) == (Outcome.REFUSED, "link_used")


async def test_use_link_for_joins_the_accounts(people: People, store: SqliteThreadStore, clock: Clock) -> None:
    ann, bob = await people.ensure_account("ann"), await people.ensure_account("bob", admin=True)
    theirs = await store.create_thread(ThreadId("1" * 32), "Bob's", Surface.API, bob.id, clock())
    token, link = await people.create_token(bob), await people.create_link(bob)
    assert await people.use_link_for(link, ann)
    assert [t.id for t in await store.list_threads(ann.id)] == [theirs.id]
    joined = await people.authenticate(token, "token")
    assert joined is not None
    assert (joined.id, joined.admin) == (ann.id, True)
    assert await store.find_account(bob.id) is None


async def test_use_link_for_with_a_used_link_joins_nothing(people: People, store: SqliteThreadStore) -> None:
    ann, bob = await people.ensure_account("ann"), await people.ensure_account("bob")
    link = await people.create_link(bob)
    await people.use_link(link)
    assert not await people.use_link_for(link, ann)
    assert await store.find_account(bob.id) == bob


async def test_link_lasts_ten_minutes(people: People, store: SqliteThreadStore) -> None:
    ann = await people.ensure_account("ann")
    await people.create_link(ann)
    (row,) = await store.secrets(ann.id)
    assert row.expires_at is not None
    assert row.expires_at - row.created_at == timedelta(minutes=10)


# admins by the settings


async def telegram_user(people: People, store: SqliteThreadStore, name: str, key: str) -> None:
    account = await people.ensure_account(name)
    identity = Identity(surface=Surface.TELEGRAM, user_key=key, account=account.id, name=name)
    await store.add_identity(identity)


async def admins(store: SqliteThreadStore) -> set[str]:
    return {account.name for account in await store.accounts() if account.admin}


async def test_who_is_named_is_an_admin_until_no_more(people: People, store: SqliteThreadStore) -> None:
    await telegram_user(people, store, "ann", "1")
    await telegram_user(people, store, "bob", "2")
    await people.settle_admins(["telegram:1", "Cleo"])
    assert await admins(store) == {"ann", "Cleo"}
    await people.settle_admins(["TELEGRAM:2"])
    assert await admins(store) == {"bob"}
    await people.settle_admins([])
    assert await admins(store) == set()


async def test_admin_in_their_own_right_stays_one_whatever_is_named(people: People, store: SqliteThreadStore) -> None:
    await telegram_user(people, store, "ann", "1")
    await people.settle_admins(["telegram:1"])
    await people.ensure_account("ann", admin=True)
    await people.settle_admins([])
    assert await admins(store) == {"ann"}


async def test_name_of_a_platforms_user_names_no_account(people: People, store: SqliteThreadStore) -> None:
    await people.ensure_account("telegram:1")
    await people.settle_admins(["telegram:1"])
    assert await admins(store) == set()


async def test_users_of_a_platform_who_are_admins_are_found(people: People, store: SqliteThreadStore) -> None:
    for name, key in (("ann", "1"), ("bob", "2"), ("cleo", "3")):
        await telegram_user(people, store, name, key)
    await people.ensure_account("bob", admin=True)
    await people.settle_admins(["telegram:1"])
    assert list(await store.admins(Surface.TELEGRAM)) == ["1", "2"]
    assert list(await store.admins(Surface.SLACK)) == []


@pytest.mark.parametrize("named", [True, False])
async def test_account_that_is_joined_to_an_admins_is_an_admins_in_the_same_way(
    people: People, store: SqliteThreadStore, named: bool
) -> None:
    await telegram_user(people, store, "ann", "1")
    bob = await people.ensure_account("bob")
    await people.settle_admins(["telegram:1"] if named else [])
    ann = await people.ensure_account("ann", admin=not named)
    await store.merge_accounts(bob.id, ann.id)
    assert await admins(store) == {"bob"}
    await people.settle_admins([])
    assert await admins(store) == (set() if named else {"bob"})
