"""What of the house's own records stays in the file, and what a backup brings back of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.threads import NOW

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
    await store.claim(Surface.TELEGRAM, "2", {"text": "later"}, NOW)
    await store.close()

    carry_over(copy, tmp_path / "turnback.db")

    restored = await SqliteThreadStore.open(copy)
    assert [claim.key for claim in await restored.unstarted_claims()] == ["2"]
    assert not await restored.claim(Surface.TELEGRAM, "1", {}, NOW)
    await restored.close()
