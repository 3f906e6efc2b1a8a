"""What of the house's own records stays in the file, and what a backup brings back of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.threads import ANN, BOB, NOW, TRIP

from turnback.core.models import Surface
from turnback.core.threads.restoring import carry_over
from turnback.core.threads.sqlite import SqliteThreadStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteThreadStore]:
    store = await SqliteThreadStore.open(tmp_path / "turnback.db")
    yield store
    await store.close()


async def test_words_of_a_claim_are_gone_from_the_file_once_it_has_started(
    store: SqliteThreadStore, tmp_path: Path
) -> None:
    await store.claim(Surface.TELEGRAM, "1", {"text": "a secret word"}, NOW)
    await store.start_claim(Surface.TELEGRAM, "1")
    assert await store.purge()
    assert all(b"secret word" not in file.read_bytes() for file in tmp_path.glob("turnback.db*"))
    assert not await store.claim(Surface.TELEGRAM, "1", {}, NOW)


async def test_backup_does_not_bring_back_an_update_that_was_handled_since(
    store: SqliteThreadStore, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    await store.claim(Surface.TELEGRAM, "1", {"text": "hi"}, NOW)
    await store.backup(str(copy))
    await store.start_claim(Surface.TELEGRAM, "1")
    await store.claim(Surface.TELEGRAM, "2", {"text": "later"}, NOW, place="chat:1")
    await store.close()

    carry_over(copy, tmp_path / "turnback.db")

    restored = await SqliteThreadStore.open(copy)
    assert [claim.key for claim in await restored.unstarted_claims()] == ["2"]
    assert not await restored.claim(Surface.TELEGRAM, "1", {}, NOW)
    assert list(await restored.last_claims(Surface.TELEGRAM, 9)) == [("chat:1", "2")]
    await restored.close()


async def test_backup_brings_back_neither_who_has_left_a_group_since_nor_its_old_id(
    store: SqliteThreadStore, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    await store.create_thread(TRIP, "Us", Surface.TELEGRAM, ANN, NOW, group=True)
    for account in (ANN, BOB):
        await store.add_participant(TRIP, account, Surface.TELEGRAM, "-1")
    await store.bind(Surface.TELEGRAM, "-1", TRIP)
    await store.backup(str(copy))
    await store.drop_participants(Surface.TELEGRAM, "-1", BOB)
    await store.move_place(Surface.TELEGRAM, "-1", "-100")
    await store.close()

    carry_over(copy, tmp_path / "turnback.db")

    restored = await SqliteThreadStore.open(copy)
    assert set(await restored.participants(TRIP)) == {ANN}
    assert await restored.moved_places(Surface.TELEGRAM) == {"-1": "-100"}
    assert await restored.bound(Surface.TELEGRAM, "-100") == TRIP
    assert set(await restored.drop_participants(Surface.TELEGRAM, "-100", ANN)) == {(TRIP, ANN)}
    await restored.close()
