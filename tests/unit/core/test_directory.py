"""What admins see of people, and the tokens that they make and revoke."""

from __future__ import annotations

import pytest
from support.world import ANN, BOB, ROOT, Clock

from turnback.core.directory import LONGEST_NAME
from turnback.core.errors import Forbidden, InvalidRequest, NotFound
from turnback.core.models import Action, Identity, Outcome, Surface
from turnback.core.people import OPERATOR
from turnback.core.service import Turnback


async def test_everybody_is_listed_with_what_they_are_elsewhere(service: Turnback, clock: Clock) -> None:
    there = Identity(surface=Surface.TELEGRAM, user_key="4", account=ANN.account, name="Ann")
    await service.threads.add_identity(there)
    bob = await service.people.ensure_account("Bob")
    await service.people.create_token(bob)
    await service.people.create_session(bob)
    clock.advance(days=40)
    await service.people.create_session(bob)
    known = await service.directory.everybody(ROOT)
    assert [k.account.name for k in known] == ["Root", "Ann", "Bob"]
    assert known[1].identities == (there,)
    assert (known[2].identities, known[2].tokens, known[2].sessions) == ((), 1, 1)


async def test_token_is_made_for_an_account_and_works(service: Turnback) -> None:
    secret = await service.directory.issue_token(ROOT, " bob ", "nightly  import")
    account = await service.people.authenticate(secret, "token")
    assert account is not None
    assert account.id == BOB.account
    (token,) = await service.directory.tokens(ROOT)
    assert (token.account.name, token.label) == ("Bob", "nightly import")
    assert secret not in repr(token)


async def test_token_of_a_new_name_makes_an_account_without_power(service: Turnback) -> None:
    secret = await service.directory.issue_token(ROOT, "importer")
    account = await service.people.authenticate(secret, "token")
    assert account is not None
    assert (account.name, account.admin) == ("importer", False)


async def test_revoked_token_works_no_more(service: Turnback) -> None:
    kept = await service.directory.issue_token(ROOT, "Bob", "kept")
    gone = await service.directory.issue_token(ROOT, "Bob", "gone")
    handle = next(t.handle for t in await service.directory.tokens(ROOT) if t.label == "gone")
    await service.directory.revoke_token(ROOT, handle)
    assert await service.people.authenticate(gone, "token") is None
    assert await service.people.authenticate(kept, "token") is not None
    with pytest.raises(NotFound):
        await service.directory.revoke_token(ROOT, handle)


async def test_session_is_no_token_to_revoke(service: Turnback) -> None:
    session = await service.people.create_session(await service.people.ensure_account("Bob"))
    digest = next(secret.digest for secret in await service.threads.secrets())
    with pytest.raises(NotFound):
        await service.directory.revoke_token(ROOT, digest[:16])
    assert await service.people.authenticate(session, "session") is not None


async def test_what_is_done_with_tokens_is_audited(service: Turnback) -> None:
    await service.directory.issue_token(ROOT, "Bob")
    await service.directory.revoke_token(ROOT, (await service.directory.tokens(ROOT))[0].handle)
    revoked, made = await service.threads.audit_trail()
    assert (made.actor, made.action, made.outcome, made.code) == ("Root", Action.SETTINGS, Outcome.DONE, "token_made")
    assert revoked.code == "token_revoked"


async def test_admin_is_made_and_unmade(service: Turnback) -> None:
    secret = await service.people.create_token(await service.people.ensure_account("Bob"))
    for admin in (True, False):
        await service.directory.set_admin(ROOT, BOB.account, admin)
        account = await service.people.authenticate(secret, "token")
        assert account is not None
        assert account.admin is admin
    taken, given = await service.threads.audit_trail()
    assert (given.actor, given.action, given.outcome, given.code) == (
        "Root",
        Action.SETTINGS,
        Outcome.DONE,
        "admin_given:Bob",
    )
    assert taken.code == "admin_taken:Bob"


async def test_admin_cannot_be_taken_from_oneself_so_that_one_is_left(service: Turnback) -> None:
    with pytest.raises(InvalidRequest, match="from yourself"):
        await service.directory.set_admin(ROOT, ROOT.account, False)


async def test_admin_whom_the_settings_name_and_the_command_line_stay_admins(service: Turnback) -> None:
    await service.threads.set_named(BOB.account, True)
    operator = await service.people.ensure_account(OPERATOR, admin=True)
    for account in (BOB.account, operator.id):
        with pytest.raises(InvalidRequest):
            await service.directory.set_admin(ROOT, account, False)
    assert await service.threads.audit_trail() == []


async def test_account_that_is_gone_is_made_no_admin(service: Turnback) -> None:
    with pytest.raises(NotFound):
        await service.directory.set_admin(ROOT, "f" * 32, True)


@pytest.mark.parametrize("name", ["", "  ", "a" * (LONGEST_NAME + 1), "an\u202en", "a\x00b"])
async def test_name_that_cannot_be_read_back_is_refused(service: Turnback, name: str) -> None:
    with pytest.raises(InvalidRequest):
        await service.directory.issue_token(ROOT, name)
    assert await service.directory.tokens(ROOT) == []


async def test_only_admins_may_ask(service: Turnback) -> None:
    for asked in (
        service.directory.everybody(ANN),
        service.directory.set_admin(ANN, ANN.account, True),
        service.directory.tokens(ANN),
        service.directory.issue_token(ANN, "Root"),
        service.directory.revoke_token(ANN, "0" * 16),
    ):
        with pytest.raises(Forbidden):
            await asked
