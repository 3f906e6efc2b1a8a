"""Settings that change while the service runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnback.config import LiveSettings, Settings, load
from turnback.core.errors import Forbidden, InvalidRequest
from turnback.core.models import AccountId, Actor, AuditEntry, Outcome, Surface

ADMIN = Actor(account=AccountId("a"), surface=Surface.API, admin=True, name="ana")
OTHER = Actor(account=AccountId("b"), surface=Surface.API)


class Kept:
    """Settings and audit rows in memory."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.entries: list[AuditEntry] = []

    async def settings(self) -> Mapping[str, Any]:
        return self.values

    async def set_settings(self, changes: Mapping[str, Any], audit: AuditEntry) -> None:
        self.values.update(changes)
        self.entries.append(audit)

    async def audit(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "turnback.toml"
    file.write_text("[time_travel]\nretention_days = 90\n")
    return file


@pytest.fixture
def live(kept: Kept, file: Path) -> LiveSettings:
    loaded = load(file, environment={"TURNBACK_TIME_TRAVEL__MAX_SNAPSHOTS": "7", "TURNBACK_AGENT__API_KEY": "sk-1"})
    return LiveSettings(loaded, kept, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def row(live: LiveSettings, key: str) -> dict[str, Any]:
    return next(row for row in live.rows() if row["key"] == key)


async def test_change_of_a_live_key_takes_effect_at_once(live: LiveSettings, kept: Kept) -> None:
    (changed,) = await live.change(ADMIN, {"time_travel.retention_days": 7})
    assert live.settings.time_travel.retention_days == 7
    assert kept.values == {"time_travel.retention_days": 7}
    assert changed == row(live, "time_travel.retention_days")
    assert (changed["value"], changed["running"], changed["source"]) == (7, 7, "page")
    assert (changed["default"], changed["restart_needed"]) == (30, False)


async def test_change_of_another_key_waits_for_a_restart(live: LiveSettings) -> None:
    await live.change(ADMIN, {"web.port": 9000})
    changed = row(live, "web.port")
    assert (changed["value"], changed["running"], changed["restart_needed"]) == (9000, 8765, True)


async def test_none_takes_the_change_back(live: LiveSettings) -> None:
    await live.change(ADMIN, {"time_travel.retention_days": 7})
    await live.change(ADMIN, {"time_travel.retention_days": None})
    assert (row(live, "time_travel.retention_days")["value"], live.settings.time_travel.retention_days) == (90, 90)


@pytest.mark.parametrize("value", [0, -1, "", 10**9, "30 days", 7.5, True, [7]])
async def test_invalid_value_is_refused_and_the_old_one_stands(live: LiveSettings, kept: Kept, value: object) -> None:
    with pytest.raises(InvalidRequest, match="from 1 to 3650"):
        await live.change(ADMIN, {"time_travel.max_per_turn": 3, "time_travel.retention_days": value})
    assert live.settings.time_travel.retention_days == 90
    assert live.settings.time_travel.max_per_turn == 30
    assert kept.values == {}
    assert [entry.outcome for entry in kept.entries] == [Outcome.REFUSED]


async def test_key_set_by_the_environment_is_refused(live: LiveSettings) -> None:
    with pytest.raises(InvalidRequest, match="environment"):
        await live.change(ADMIN, {"time_travel.max_snapshots": 9})


@pytest.mark.parametrize("key", ["storage.path", "storage.url", "agent.shell"])
async def test_key_that_belongs_in_the_file_is_refused(live: LiveSettings, key: str) -> None:
    with pytest.raises(InvalidRequest, match="settings file"):
        await live.change(ADMIN, {key: "x"})


async def test_unknown_key_is_refused_with_the_nearest(live: LiveSettings) -> None:
    with pytest.raises(InvalidRequest, match="did you mean"):
        await live.change(ADMIN, {"time_travel.retention_day": 9})


async def test_only_admins_may_change(live: LiveSettings) -> None:
    with pytest.raises(Forbidden):
        await live.change(OTHER, {"time_travel.retention_days": 9})


async def test_typed_text_is_read_as_the_keys_type(live: LiveSettings) -> None:
    assert (await live.change_text(ADMIN, "time_travel.retention_days", " 7 "))["value"] == 7
    with pytest.raises(InvalidRequest):
        await live.change_text(ADMIN, "time_travel.retention_days", "30 days")


def test_rows_hide_secrets(live: LiveSettings) -> None:
    assert row(live, "agent.api_key")["value"] == "(hidden)"
    assert "sk-1" not in str(live.rows())


async def test_changes_of_before_count_at_the_next_start(live: LiveSettings, kept: Kept, file: Path) -> None:
    await live.change(ADMIN, {"web.port": 9000})
    again = LiveSettings(load(file, environment={}, page=kept.values), kept, lambda: datetime.now(UTC))
    assert row(again, "web.port")["running"] == 9000
    await again.change(ADMIN, {"time_travel.retention_days": 7})
    assert row(again, "web.port")["value"] == 9000


async def test_secret_set_on_the_page_is_never_shown(kept: Kept, file: Path) -> None:
    live = LiveSettings(load(file, environment={}), kept, lambda: datetime.now(UTC))
    (changed,) = await live.change(ADMIN, {"agent.api_key": "sk-new"})
    assert (changed["value"], changed["running"], changed["restart_needed"]) == ("(hidden)", None, True)
    assert "sk-new" not in str(live.rows()) + str(live.fields()) + repr(live.settings)
    assert live.settings.agent.api_key is not None
    assert live.settings.agent.api_key.get_secret_value() == "sk-new"


async def test_what_is_shown_instead_of_a_secret_is_no_secret(live: LiveSettings, kept: Kept) -> None:
    with pytest.raises(InvalidRequest, match="not one"):
        await live.change(ADMIN, {"telegram.token": "(hidden)"})
    assert kept.values == {}


def test_problems_are_told_by_key_and_nothing_is_changed(live: LiveSettings, kept: Kept) -> None:
    problems = live.problems(
        ADMIN,
        {
            "time_travel.retention_days": 0,
            "time_travel.max_snapshots": 9,
            "storage.path": "x",
            "agent.kind": "pydantic-ai",
            "web.port": 1,
        },
    )
    assert problems["time_travel.retention_days"] == "It must be a whole number from 1 to 3650."
    assert "environment" in problems["time_travel.max_snapshots"]
    assert "settings file" in problems["storage.path"]
    assert set(problems) <= {"time_travel.retention_days", "time_travel.max_snapshots", "storage.path", "agent.kind"}
    assert (kept.values, kept.entries) == ({}, [])


def test_problem_of_a_key_that_needs_another_is_told_there(live: LiveSettings) -> None:
    assert "needs agent.model" in live.problems(ADMIN, {"agent.kind": "pydantic-ai"})["agent.kind"]
    assert live.problems(ADMIN, {"agent.kind": "pydantic-ai", "agent.model": "test"}) == {}


def test_fields_say_what_each_key_is(live: LiveSettings) -> None:
    fields = {field.key: field for field in live.fields()}
    assert len(fields) == len(live.rows())
    kinds = {field.kind for field in fields.values()}
    assert kinds == {"switch", "choice", "number", "size", "list", "text", "prose", "secret"}
    assert fields["time_travel.on_restore"].choices == ("keep", "discard")
    assert fields["time_travel.retention_days"].live
    assert not fields["web.port"].live
    assert fields["web.port"].locked is None
    assert fields["agent.api_key"].locked is not None
    assert fields["agent.api_key"].variable == "TURNBACK_AGENT__API_KEY"
    assert fields["agent.api_key"].value == "(hidden)"


async def test_change_is_told_before_it_is_answered(kept: Kept, file: Path) -> None:
    told: list[list[str]] = []

    async def changed(settings: Settings) -> None:
        told.append(settings.access.admins)

    live = LiveSettings(load(file, environment={}), kept, lambda: datetime(2026, 1, 1, tzinfo=UTC), changed)
    await live.change(ADMIN, {"access.admins": ["telegram:1"]})
    with pytest.raises(InvalidRequest):
        await live.change(ADMIN, {"access.admins": 7})
    assert told == [["telegram:1"]]
