"""Who somebody on a platform is to us."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.hall import Hall

from turnback.bots.people import PlatformPeople, is_admin, is_allowed
from turnback.bots.platform import Person
from turnback.core.models import Surface

ANN = Person(surface=Surface.TELEGRAM, user_key="1", name="Ann")
DEE = Person(surface=Surface.DISCORD, user_key="9", name="Dee", scopes=("discord:guild:123",))
SUE = Person(surface=Surface.SLACK, user_key="T0AB:U7", name="Sue", scopes=("slack:T0AB",))


@pytest.mark.parametrize(
    ("allow", "person", "allowed"),
    [
        ([], ANN, False),
        (["telegram:*"], ANN, True),
        (["telegram:1"], ANN, True),
        (["telegram:11"], ANN, False),
        (["discord:*", "slack:*"], ANN, False),
        (["discord:guild:123"], DEE, True),
        (["discord:guild:*"], DEE, True),
        (["discord:guild:12"], DEE, False),
        (["discord:guild:*"], replace(DEE, scopes=()), False),
        (["slack:T0AB"], SUE, True),
        (["slack:U7"], SUE, True),
        (["slack:u7"], SUE, True),
        (["slack:T0A"], SUE, False),
    ],
)
def test_allow_names_users_scopes_or_all(allow: list[str], person: Person, allowed: bool) -> None:
    assert is_allowed(allow, person) is allowed


@pytest.mark.parametrize(
    ("admins", "person", "admin"),
    [
        (["telegram:1"], ANN, True),
        (["telegram:*"], ANN, False),
        (["Ann"], ANN, False),
        (["discord:guild:123"], DEE, False),
        (["slack:T0AB"], SUE, False),
        (["slack:U7"], SUE, True),
    ],
)
def test_admins_are_named_one_by_one(admins: list[str], person: Person, admin: bool) -> None:
    assert is_admin(admins, person) is admin


def people(house: Hall, *, allow: list[str] | None = None, admins: list[str] | None = None) -> PlatformPeople:
    return PlatformPeople(
        house.service, admins=lambda: admins or [], allow=lambda: ["telegram:*"] if allow is None else allow
    )


async def test_first_contact_makes_one_account_though_several_messages_come_at_once(house: Hall) -> None:
    asked = people(house)
    actors = await asyncio.gather(*(asked.actor(ANN) for _ in range(5)))
    assert len({actor.account for actor in actors if actor}) == 1
    [account] = await house.service.threads.accounts()
    assert account.name == "Ann (telegram)"


async def test_second_person_of_a_name_gets_another_account(house: Hall) -> None:
    asked = people(house)
    first, second = await asked.actor(ANN), await asked.actor(replace(ANN, user_key="2"))
    assert first is not None
    assert second is not None
    assert first.account != second.account
    assert [a.name for a in await house.service.threads.accounts()] == ["Ann (telegram)", "Ann (telegram:2)"]


async def test_name_of_the_operator_is_not_the_operators_account(house: Hall) -> None:
    mallory = await people(house).actor(replace(ANN, name="operator"))
    operator = await house.service.people.ensure_account("operator", admin=True)
    assert mallory is not None
    assert mallory.account != operator.id
    assert not mallory.admin


async def test_admin_by_settings_is_one_on_the_page_too(house: Hall) -> None:
    actor = await people(house, allow=[], admins=["telegram:1"]).actor(ANN)
    assert actor is not None
    assert actor.admin
    account = await house.service.threads.find_account(actor.account)
    assert account is not None
    assert account.admin


async def test_admin_who_is_named_no_more_is_none_and_no_more_let_in_for_that(house: Hall) -> None:
    await people(house, allow=[], admins=["telegram:1"]).actor(ANN)
    assert await people(house, allow=[]).actor(ANN) is None
    [account] = await house.service.threads.accounts()
    assert not account.admin


async def test_admin_by_another_of_their_users_stays_one(house: Hall) -> None:
    named = people(house, allow=["slack:*"], admins=["telegram:1"])
    actor, other = await named.actor(ANN), await named.actor(SUE)
    assert actor is not None
    assert other is not None
    await house.service.threads.merge_accounts(actor.account, other.account)
    other = await named.actor(SUE)
    assert other is not None
    assert (other.account, other.admin) == (actor.account, True)


async def test_where_nobody_knows_who_is_named_admins_stay_what_they_are(house: Hall) -> None:
    await people(house, admins=["telegram:1"]).actor(ANN)
    host = PlatformPeople(house.service, admins=None, allow=lambda: ["telegram:*"])
    actor = await host.actor(ANN)
    assert actor is not None
    assert actor.admin


async def test_stranger_makes_no_account(house: Hall) -> None:
    assert await people(house, allow=[]).actor(ANN) is None
    assert await house.service.threads.accounts() == []


async def test_person_who_is_no_longer_allowed_is_refused(house: Hall) -> None:
    assert await people(house).actor(ANN) is not None
    assert await people(house, allow=[]).actor(ANN) is None


async def test_new_name_is_used_from_then_on(house: Hall) -> None:
    await people(house).actor(ANN)
    actor = await people(house).actor(replace(ANN, name="Anna\u202e"))
    assert actor is not None
    assert actor.name == "Anna"
    identity = await house.service.threads.find_identity(Surface.TELEGRAM, "1")
    assert identity is not None
    assert identity.name == "Anna"
