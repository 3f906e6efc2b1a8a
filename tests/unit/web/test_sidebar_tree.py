"""How the list of chats is arranged."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from turnback.core.models import BEGINNING, AccountId, ForkedFrom, Spent, StepId, Surface, Thread, ThreadId
from turnback.web.pages.sidebar import Entry, arrange

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def chat(name: str, minutes: int, origin: str | None = None) -> Thread:
    """A chat used so many minutes after noon."""
    return Thread(
        id=ThreadId(name),
        title=name,
        surface=Surface.WEB,
        owner=AccountId("a"),
        group=False,
        created_at=NOON,
        updated_at=NOON + timedelta(minutes=minutes),
        forked_from=ForkedFrom(thread_id=ThreadId(origin), snapshot_id=StepId("s")) if origin else None,
        head=BEGINNING,
        root=BEGINNING,
        root_turn_index=1,
        epoch=0,
        version=0,
        memory=True,
        spent=Spent(),
        running_turn=None,
    )


def shape(entries: Iterable[Entry]) -> list[object]:
    return [[e.thread.id, shape(e.forks)] if e.forks else e.thread.id for e in entries]


def test_chats_are_newest_first() -> None:
    assert shape(arrange([chat("a", 1), chat("b", 3), chat("c", 2)], {})) == ["b", "c", "a"]


def test_fork_is_under_its_origin_and_lifts_it() -> None:
    threads = [chat("fork", 9, "old"), chat("new", 5), chat("old", 1)]
    assert shape(arrange(threads, {})) == [["old", ["fork"]], "new"]


def test_fork_whose_origin_is_not_listed_stands_alone() -> None:
    assert shape(arrange([chat("fork", 1, "gone"), chat("other", 2)], {})) == ["other", "fork"]


def test_deep_forks_stand_beside_each_other() -> None:
    threads = [chat(str(n), n, str(n - 1) if n else None) for n in range(7)]
    deepest = shape(arrange(threads, {}))
    assert deepest == [["0", [["1", [["2", ["6", "5", "4", "3"]]]]]]]


def test_chat_that_names_itself_as_its_origin_is_listed() -> None:
    assert shape(arrange([chat("a", 1, "a")], {})) == ["a"]


def test_where_it_left_is_kept_with_the_fork() -> None:
    (entry,) = arrange([chat("fork", 1, "gone")], {ThreadId("fork"): "turn 2, step 1"})
    assert entry.left == "turn 2, step 1"
