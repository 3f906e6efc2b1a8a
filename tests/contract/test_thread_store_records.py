"""What every thread store does with people, messages that wait, secrets, claims, audit, settings; with restarts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.threads import ANN, BOB, FORK, NOW, TRIP, Talk, entry, later, new_turn

from turnback.core.errors import NotFound, TurnRunning
from turnback.core.models import Account, AccountId, Action, Actor, Identity, Outcome, Surface
from turnback.core.threads.accounts import NameTaken, Secret
from turnback.core.threads.ledger import AuditFilter, Claim
from turnback.core.threads.store import Stale, ThreadStore, Waiting

Reopen = Callable[[], Awaitable[ThreadStore]]


# people and places


async def test_create_account_names_are_unique_in_any_case(threads: ThreadStore) -> None:
    made = await threads.create_account(ANN, "Änn", NOW, admin=True)
    assert made == Account(id=ANN, name="Änn", admin=True, created_at=NOW)
    with pytest.raises(NameTaken):
        await threads.create_account(BOB, "äNN", NOW)
    assert await threads.account_named("ÄNN") == made
    assert await threads.find_account(ANN) == made
    assert await threads.find_account(BOB) is None
    assert await threads.account_named("bob") is None
    assert list(await threads.accounts()) == [made]


async def test_set_admin_changes_the_account(threads: ThreadStore) -> None:
    made = await threads.create_account(ANN, "ann", NOW)
    await threads.set_admin(ANN, True)
    assert await threads.find_account(ANN) == replace(made, admin=True)


async def test_add_identity_moves_it_from_another_account(threads: ThreadStore) -> None:
    identity = Identity(surface=Surface.TELEGRAM, user_key="7", account=ANN, name="Ann")
    await threads.add_identity(identity)
    await threads.add_identity(replace(identity, surface=Surface.SLACK))
    moved = replace(identity, account=BOB)
    await threads.add_identity(moved)
    assert await threads.find_identity(Surface.TELEGRAM, "7") == moved
    assert list(await threads.identities(ANN)) == [replace(identity, surface=Surface.SLACK)]
    assert await threads.find_identity(Surface.DISCORD, "7") is None


async def test_bind_gives_a_place_one_thread(talk: Talk) -> None:
    store = talk.store
    await store.create_thread(FORK, "other", Surface.WEB, ANN, NOW)
    await store.bind(Surface.TELEGRAM, "chat:1", TRIP)
    await store.bind(Surface.SLACK, "C1", TRIP)
    assert list(await store.places(TRIP)) == [(Surface.SLACK, "C1"), (Surface.TELEGRAM, "chat:1")]
    await store.bind(Surface.TELEGRAM, "chat:1", FORK)
    assert await store.bound(Surface.TELEGRAM, "chat:1") == FORK
    assert list(await store.places(TRIP)) == [(Surface.SLACK, "C1")]
    assert await store.bound(Surface.DISCORD, "chat:1") is None


# messages that wait for their turn


WRITER = Actor(account=ANN, surface=Surface.TELEGRAM, name="Ann", identity="telegram:7")


async def test_waiting_messages_are_there_after_a_restart_in_order(reopen_threads: Reopen) -> None:
    threads = await reopen_threads()
    await threads.create_account(ANN, "ann", NOW)
    await Talk(threads).start()
    await Talk(threads, FORK).start()
    ids = [await threads.add_waiting(thread, WRITER, text) for thread, text in ((TRIP, "b"), (FORK, "a"), (TRIP, "c"))]
    threads = await reopen_threads()
    assert list(await threads.waiting()) == [
        Waiting(id=ids[0], thread_id=TRIP, actor=WRITER, text="b"),
        Waiting(id=ids[1], thread_id=FORK, actor=WRITER, text="a"),
        Waiting(id=ids[2], thread_id=TRIP, actor=WRITER, text="c"),
    ]
    await threads.drop_waiting(ids[:2])
    assert [w.text for w in await threads.waiting()] == ["c"]


async def test_waiting_message_keeps_its_origin_and_files_over_a_restart(reopen_threads: Reopen) -> None:
    threads = await reopen_threads()
    await threads.create_account(ANN, "ann", NOW)
    await Talk(threads).start()
    await threads.add_waiting(TRIP, WRITER, "", origin="telegram:chat:1#7", files=["inbox/ä.jpg", "inbox/b.txt"])
    threads = await reopen_threads()
    [kept] = await threads.waiting()
    assert (kept.origin, kept.files) == ("telegram:chat:1#7", ("inbox/ä.jpg", "inbox/b.txt"))


async def test_waiting_message_has_the_rights_of_its_account_now(talk: Talk) -> None:
    await talk.store.create_account(ANN, "ann", NOW)
    await talk.store.add_waiting(TRIP, replace(WRITER, admin=True, platform_admin=True), "hi")
    assert [w.actor for w in await talk.store.waiting()] == [WRITER]
    await talk.store.set_admin(ANN, True)
    assert [w.actor for w in await talk.store.waiting()] == [replace(WRITER, admin=True)]


async def test_waiting_message_of_a_merged_account_is_the_kept_ones(talk: Talk) -> None:
    await talk.store.create_account(ANN, "ann", NOW)
    await talk.store.create_account(BOB, "bob", NOW)
    await talk.store.add_waiting(TRIP, WRITER, "hi")
    await talk.store.merge_accounts(BOB, ANN)
    assert [w.actor.account for w in await talk.store.waiting()] == [BOB]


async def test_begin_turn_takes_its_message_once(talk: Talk) -> None:
    await talk.store.create_account(ANN, "ann", NOW)
    waiting = await talk.store.add_waiting(TRIP, WRITER, "hi")
    new = replace(new_turn("hi"), waiting=waiting)
    running = await talk.begin("other")
    with pytest.raises(TurnRunning):
        await talk.store.begin_turn(TRIP, new)
    assert [w.id for w in await talk.store.waiting()] == [waiting], "what did not begin waits on"
    await talk.end(running)

    await talk.end(await talk.store.begin_turn(TRIP, new))
    assert list(await talk.store.waiting()) == []
    with pytest.raises(Stale):
        await talk.store.begin_turn(TRIP, new)
    assert (await talk.view()).thread.running_turn is None


async def test_move_head_and_delete_leave_nothing_waiting_in_their_thread(talk: Talk) -> None:
    await talk.store.create_account(ANN, "ann", NOW)
    await Talk(talk.store, FORK).start()
    await talk.turn("one")
    await talk.store.add_waiting(FORK, WRITER, "elsewhere")
    await talk.store.add_waiting(TRIP, WRITER, "two")
    await talk.undo()
    assert [w.text for w in await talk.store.waiting()] == ["elsewhere"]
    await talk.store.delete_thread(FORK, entry(Action.DELETE, FORK))
    assert list(await talk.store.waiting()) == []
    with pytest.raises(NotFound):
        await talk.store.add_waiting(FORK, WRITER, "late")


# secrets


def secret(digest: str, account: AccountId = ANN) -> Secret:
    return Secret(
        digest=digest,
        kind="link",
        account=account,
        label="phone",
        created_at=NOW,
        expires_at=later(600),
        used_at=None,
    )


async def test_use_secret_works_once(threads: ThreadStore) -> None:
    await threads.add_secret(secret("d1"))
    assert await threads.use_secret("d1", later(1))
    assert not await threads.use_secret("d1", later(2))
    assert not await threads.use_secret("none", NOW)
    assert await threads.find_secret("d1") == replace(secret("d1"), used_at=later(1))


async def test_drop_secret_forgets_it(threads: ThreadStore) -> None:
    token = replace(secret("d2", BOB), kind="token", expires_at=None)
    await threads.add_secret(secret("d1"))
    await threads.add_secret(token)
    assert list(await threads.secrets(BOB)) == [token]
    assert len(await threads.secrets()) == 2
    assert await threads.drop_secret("d2")
    assert not await threads.drop_secret("d2")
    assert await threads.find_secret("d2") is None


# claims


async def test_claim_is_given_once(threads: ThreadStore) -> None:
    assert await threads.claim(Surface.TELEGRAM, "update:1", {"text": "hi \ud800"}, NOW)
    assert not await threads.claim(Surface.TELEGRAM, "update:1", {"text": "other"}, later(1))
    assert await threads.claim(Surface.SLACK, "update:1", {}, later(2))
    assert [c.key for c in await threads.unstarted_claims()] == ["update:1", "update:1"]


async def test_claim_that_never_started_is_there_after_a_restart(reopen_threads: Reopen) -> None:
    threads = await reopen_threads()
    await threads.claim(Surface.TELEGRAM, "1", {"text": "hi \ud800"}, NOW)
    await threads.claim(Surface.TELEGRAM, "2", {}, NOW)
    assert await threads.start_claim(Surface.TELEGRAM, "2")
    assert not await threads.start_claim(Surface.TELEGRAM, "2")
    assert not await threads.start_claim(Surface.TELEGRAM, "3")
    threads = await reopen_threads()
    assert list(await threads.unstarted_claims()) == [
        Claim(surface=Surface.TELEGRAM, key="1", payload={"text": "hi \ud800"}, started=False, created_at=NOW)
    ]
    assert not await threads.claim(Surface.TELEGRAM, "2", {}, NOW)


async def test_last_claims_name_the_places_heard_last_first(reopen_threads: Reopen) -> None:
    threads = await reopen_threads()
    await threads.claim(Surface.DISCORD, "1", {}, NOW, place="a")
    await threads.claim(Surface.DISCORD, "2", {}, later(1), place="b")
    await threads.claim(Surface.DISCORD, "3", {}, later(2), place="a")
    await threads.claim(Surface.DISCORD, "4", {}, later(3))
    await threads.claim(Surface.SLACK, "5", {}, later(4), place="c")
    assert not await threads.claim(Surface.DISCORD, "2", {}, later(5), place="b")
    threads = await reopen_threads()
    assert list(await threads.last_claims(Surface.DISCORD, 9)) == [("a", "3"), ("b", "2")]
    assert list(await threads.last_claims(Surface.DISCORD, 1)) == [("a", "3")]


async def test_last_claims_outlive_their_claims(threads: ThreadStore) -> None:
    await threads.claim(Surface.DISCORD, "1", {}, NOW, place="a")
    await threads.drop_stale(later(9))
    assert list(await threads.last_claims(Surface.DISCORD, 9)) == [("a", "1")]


async def test_drop_stale_forgets_old_claims_answers_and_expired_secrets(talk: Talk) -> None:
    threads = talk.store
    for number in range(3):
        await threads.claim(Surface.WEB, str(number), {}, later(number))
    await threads.set_idempotent(TRIP, "k", {"id": "a"}, NOW)
    await threads.add_secret(replace(secret("old"), expires_at=later(1)))
    await threads.add_secret(replace(secret("good"), expires_at=later(3)))
    await threads.add_secret(replace(secret("lasting"), expires_at=None))

    assert await threads.drop_stale(later(2)) == 4

    assert await threads.claim(Surface.WEB, "0", {}, NOW)
    assert not await threads.claim(Surface.WEB, "2", {}, NOW)
    assert await threads.idempotent(TRIP, "k") is None
    assert [await threads.find_secret(d) is None for d in ("old", "good", "lasting")] == [True, False, False]


# audit, settings, notes


async def test_audit_trail_is_newest_first_and_limited(threads: ThreadStore) -> None:
    entries = [
        replace(entry(), at=later(-n), account=None, thread_id=None, outcome=Outcome.REFUSED, code="turn_running")
        for n in range(3)
    ]
    for one in entries:
        await threads.audit(one)
    await threads.audit(entry())
    assert list(await threads.audit_trail(limit=3)) == [entry(), entries[2], entries[1]]
    assert list(await threads.audit_trail(thread_id=TRIP)) == [entry()]


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        (AuditFilter(), [4, 3, 2, 1]),
        (AuditFilter(outcome=Outcome.REFUSED), [3]),
        (AuditFilter(action=Action.UNDO), [2]),
        (AuditFilter(surface=Surface.TELEGRAM), [4, 3]),
        (AuditFilter(surface=Surface.TELEGRAM, outcome=Outcome.DONE), [4]),
        (AuditFilter(since=later(2)), [4, 3, 2]),
        (AuditFilter(until=later(2)), [1]),
        (AuditFilter(since=later(2), until=later(4)), [3, 2]),
        (AuditFilter(actor="TELEGRAM:4"), [4, 3]),
        (AuditFilter(actor="änn"), [2, 1]),
        (AuditFilter(actor="%"), []),
        (AuditFilter(actor="telegram_4"), []),
        (AuditFilter(chat="tri"), [2, 1]),
        (AuditFilter(chat=TRIP[:6]), [2, 1]),
        (AuditFilter(chat="_rip"), []),
        (AuditFilter(chat=FORK), [3]),
    ],
)
async def test_audit_trail_has_only_what_is_wanted(
    threads: ThreadStore, wanted: AuditFilter, fitting: list[int]
) -> None:
    await threads.create_account(ANN, "Änn", NOW)
    await threads.create_thread(TRIP, "Trip", Surface.WEB, ANN, NOW)
    await threads.audit(replace(entry(), at=later(1)))
    await threads.audit(replace(entry(Action.UNDO), at=later(2)))
    chat = replace(entry(), surface=Surface.TELEGRAM, account=BOB, actor="telegram:4")
    await threads.audit(replace(chat, at=later(3), thread_id=FORK, outcome=Outcome.REFUSED, code="forbidden"))
    await threads.audit(replace(chat, at=later(4), thread_id=None))
    trail = await threads.audit_trail(wanted=wanted)
    assert [round((line.at - NOW).total_seconds()) for line in trail] == fitting
    assert await threads.audit_count(wanted) == len(fitting)


async def test_audit_trail_goes_on_before_a_line(threads: ThreadStore) -> None:
    for n in range(5):
        await threads.audit(replace(entry(), at=later(n)))
    first = await threads.audit_trail(limit=2)
    second = await threads.audit_trail(limit=2, before=first[-1].n)
    third = await threads.audit_trail(limit=2, before=second[-1].n)
    assert [line.at for line in (*first, *second, *third)] == [later(n) for n in (4, 3, 2, 1, 0)]
    assert await threads.audit_trail(before=third[-1].n) == []


async def test_audit_trail_filters_within_a_thread(threads: ThreadStore) -> None:
    await threads.audit(entry())
    await threads.audit(entry(Action.UNDO))
    await threads.audit(entry(Action.UNDO, FORK))
    found = await threads.audit_trail(thread_id=TRIP, wanted=AuditFilter(action=Action.UNDO))
    assert list(found) == [entry(Action.UNDO)]


async def test_identities_of_everybody(threads: ThreadStore) -> None:
    for account, name in ((ANN, "Ann"), (BOB, "Bob")):
        await threads.create_account(account, name, NOW)
        await threads.add_identity(Identity(surface=Surface.SLACK, user_key=name, account=account, name=name))
    assert [identity.account for identity in await threads.identities(None)] == [ANN, BOB]
    assert [identity.account for identity in await threads.identities(BOB)] == [BOB]


async def test_set_settings_changes_and_takes_back(threads: ThreadStore) -> None:
    audit = replace(entry(Action.SETTINGS), thread_id=None)
    await threads.set_settings({"a.b": 7, "c": ["x"], "d": False}, audit)
    await threads.set_settings({"a.b": None, "c": "y"}, audit)
    assert dict(await threads.settings()) == {"c": "y", "d": False}
    assert list(await threads.audit_trail()) == [audit, audit]


async def test_notes_are_kept_over_a_restart(reopen_threads: Reopen) -> None:
    threads = await reopen_threads()
    assert await threads.note("last") is None
    await threads.set_note("last", "1")
    await threads.set_note("last", "2")
    threads = await reopen_threads()
    assert await threads.note("last") == "2"


async def test_idempotent_answers_as_the_first_time(talk: Talk) -> None:
    assert await talk.store.idempotent(TRIP, "k") is None
    await talk.store.set_idempotent(TRIP, "k", {"id": "a", "n": 1}, NOW)
    await talk.store.set_idempotent(TRIP, "k", {"id": "b"}, NOW)
    assert await talk.store.idempotent(TRIP, "k") == {"id": "a", "n": 1}
    assert await talk.store.idempotent(FORK, "k") is None


# the whole


async def test_everything_is_there_after_a_restart(reopen_threads: Reopen) -> None:
    talk = await Talk(await reopen_threads()).start()
    await talk.turn("one", [{"messages": [{"role": "user", "content": "one"}], "n": 1}])
    await talk.turn("two")
    await talk.undo()
    running = await talk.begin("three")
    before = await talk.view()
    talk.store = await reopen_threads()
    assert await talk.view() == before
    assert list(await talk.store.running()) == [running]
    assert await talk.state() == {"messages": [{"role": "user", "content": "one"}], "n": 1}
    at = await talk.commit(running, {"messages": [{"role": "user", "content": "one"}], "n": 3})
    await talk.end(running)
    assert await talk.texts() == ["one", "answer to one", "three", "done"]
    assert await talk.store.checkpoint(TRIP, at) == {"messages": [{"role": "user", "content": "one"}], "n": 3}


async def test_backup_is_a_whole_store(talk: Talk, tmp_path: Path) -> None:
    await talk.turn("one", [{"n": 1}])
    before = await talk.view()
    await talk.store.backup(str(tmp_path / "copy.db"))
    await talk.turn("two")
    copy = Talk(await type(talk.store).open(tmp_path / "copy.db"))  # type: ignore[attr-defined]
    try:
        assert await copy.view() == before
        assert await copy.state() == {"n": 1}
    finally:
        await copy.store.close()
