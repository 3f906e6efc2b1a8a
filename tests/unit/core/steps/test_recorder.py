"""A capture never breaks a turn, and its result is counted."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.steps import THREAD, draft, ids, state

from turnback.core.metrics import Metrics
from turnback.core.models import CaptureResult, Step
from turnback.core.policy import TimeTravel
from turnback.core.state import codec
from turnback.core.state.codec import NotEncodable
from turnback.core.state.prepare import prepare
from turnback.core.steps.recorder import Recorder
from turnback.core.steps.sqlite import SqliteStepStore


@dataclass
class Audience:
    """Whom saved steps are announced to."""

    heard: list[Step] = field(default_factory=list)
    deaf: bool = False

    async def __call__(self, step: Step) -> None:
        if self.deaf:
            raise RuntimeError("nobody listens")
        self.heard.append(step)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStepStore]:
    store = SqliteStepStore(tmp_path / "steps.db")
    yield store
    await store.close()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def audience() -> Audience:
    return Audience()


@pytest.fixture
def recorder(store: SqliteStepStore, metrics: Metrics, audience: Audience) -> Recorder:
    return Recorder(store, metrics, TimeTravel, audience)


def counted(metrics: Metrics, result: CaptureResult) -> float | None:
    return metrics.registry.get_sample_value("turnback_capture_total", {"result": result.value})


async def test_capture_is_stored_counted_and_announced(
    recorder: Recorder, store: SqliteStepStore, metrics: Metrics, audience: Audience
) -> None:
    wanted = draft()
    assert await recorder.capture(wanted, codec.encode(state())) is CaptureResult.STORED
    assert await ids(store) == [wanted.id]
    assert [step.id for step in audience.heard] == [wanted.id]
    assert counted(metrics, CaptureResult.STORED) == 1
    assert metrics.registry.get_sample_value("turnback_capture_seconds_count") == 1


async def test_capture_of_a_cut_state_is_truncated_and_announced(
    recorder: Recorder, metrics: Metrics, audience: Audience
) -> None:
    encoded = prepare(state(scratchpad="x" * 100_000), 10_000)
    assert await recorder.capture(draft(), encoded) is CaptureResult.TRUNCATED
    assert counted(metrics, CaptureResult.TRUNCATED) == 1
    assert [step.truncated for step in audience.heard] == [True]


async def test_capture_with_saving_off_is_skipped(store: SqliteStepStore, metrics: Metrics, audience: Audience) -> None:
    recorder = Recorder(store, metrics, lambda: TimeTravel(enabled=False), audience)
    assert await recorder.capture(draft(), codec.encode(state())) is CaptureResult.SKIPPED
    assert await ids(store) == []
    assert audience.heard == []
    assert counted(metrics, CaptureResult.SKIPPED) == 1


async def test_capture_of_what_cannot_be_encoded_has_failed_and_the_next_is_tried(
    recorder: Recorder, metrics: Metrics, audience: Audience
) -> None:
    assert await recorder.capture(draft(), NotEncodable("no")) is CaptureResult.FAILED
    assert audience.heard == []
    assert counted(metrics, CaptureResult.FAILED) == 1
    assert await recorder.capture(draft(), codec.encode(state())) is CaptureResult.STORED


async def test_capture_overtaken_by_a_clear_is_skipped(
    recorder: Recorder, store: SqliteStepStore, audience: Audience
) -> None:
    await store.clear(THREAD, 1)
    assert await recorder.capture(draft(epoch=0), codec.encode(state())) is CaptureResult.SKIPPED
    assert audience.heard == []


async def test_capture_into_a_damaged_file_has_failed_and_heals(
    recorder: Recorder, metrics: Metrics, tmp_path: Path
) -> None:
    (tmp_path / "steps.db").write_bytes(os.urandom(4096))
    assert await recorder.capture(draft(), codec.encode(state())) is CaptureResult.FAILED
    (tmp_path / "steps.db").unlink()
    assert await recorder.capture(draft(), codec.encode(state())) is CaptureResult.STORED
    assert counted(metrics, CaptureResult.FAILED) == 1


async def test_capture_is_stored_though_nobody_could_be_told(recorder: Recorder, audience: Audience) -> None:
    audience.deaf = True
    assert await recorder.capture(draft(), codec.encode(state())) is CaptureResult.STORED


async def test_capture_logs_no_word_of_the_state(
    recorder: Recorder, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "steps.db").write_bytes(os.urandom(4096))
    try:
        raise NotEncodable("TypeError") from ValueError("my secret words")
    except NotEncodable as error:
        await recorder.capture(draft(), error)
    await recorder.capture(draft(), codec.encode(state(secret="my secret words")))
    printed = capsys.readouterr()
    assert "my secret words" not in printed.out + printed.err
