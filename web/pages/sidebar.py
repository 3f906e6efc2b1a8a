"""The list of my chats: newest first, forks under the chat that they came from, with where they left it.

A fork goes where its origin is, and an origin is as new as its newest fork: so a fork that was just made
is seen at once, wherever its origin was.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from turnback.core.errors import StoreUnavailable
from turnback.core.models import ForkedFrom, StepId, Thread, ThreadId
from turnback.core.steps.store import StepStore
from turnback.web.pages.frame import Page, PageAsked, page_router

NESTED = 3
"""How deep forks of forks are indented; deeper ones stand beside each other."""

REMEMBERED = 5000
"""Origins of forks that are kept in memory: they never change."""

LONGEST_QUERY = 200

router = page_router()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A chat of the list. `left` is where a fork left its origin: `turn 2, step 1`."""

    thread: Thread
    newest: datetime
    left: str | None
    forks: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidebar:
    """The list as it is shown. `at` is the chat that is open; `query` filters."""

    entries: tuple[Entry, ...]
    total: int
    at: str | None
    query: str


class Origins:
    """Where forks left their origins, looked up once each."""

    def __init__(self) -> None:
        self._known: OrderedDict[StepId, int] = OrderedDict()

    async def step_number(self, steps: StepStore, forked_from: ForkedFrom) -> int | None:
        """The number in its turn of the step that was forked; None if nothing knows it any more."""
        step_id = forked_from.snapshot_id
        if step_id not in self._known:
            found = [s for s in await steps.match(forked_from.thread_id, step_id) if s.id == step_id]
            if not found:
                return None
            self._known[step_id] = found[0].number
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return self._known[step_id]


_origins = Origins()


async def sidebar_of(page: Page, at: str | None = None, query: str = "") -> Sidebar:
    """The asker's list."""
    query = " ".join(query.split())[:LONGEST_QUERY]
    threads = await page.web.service.rewind.threads(page.actor)
    shown = [t for t in threads if query.casefold() in t.title.casefold()]
    left = {t.id: await place_left(page.web.service.steps, t) for t in shown if t.forked_from is not None}
    return Sidebar(entries=arrange(shown, left), total=len(threads), at=at, query=query)


async def place_left(steps: StepStore, fork: Thread) -> str:
    """Where a fork left its origin, in words."""
    assert fork.forked_from is not None
    try:
        number = await _origins.step_number(steps, fork.forked_from)
    except StoreUnavailable:  # the list must work without the steps
        number = None
    return f"turn {fork.root_turn_index}" + (f", step {number}" if number is not None else "")


def arrange(threads: Sequence[Thread], left: Mapping[ThreadId, str]) -> tuple[Entry, ...]:
    """The threads as a tree: forks under their origin where it is among them."""
    ids = {t.id for t in threads}
    forks: dict[ThreadId, list[Thread]] = defaultdict(list)
    roots = []
    for thread in threads:
        origin = thread.forked_from.thread_id if thread.forked_from else None
        if origin in ids and origin is not None and origin != thread.id:
            forks[origin].append(thread)
        else:
            roots.append(thread)

    def entries(members: Sequence[Thread], depth: int) -> tuple[Entry, ...]:
        made = []
        for thread in members:
            below = entries(forks[thread.id], depth + 1)
            flat = depth >= NESTED
            newest = thread.updated_at if flat else max([thread.updated_at, *(e.newest for e in below)])
            made.append(Entry(thread=thread, newest=newest, left=left.get(thread.id), forks=() if flat else below))
            made += below if flat else ()
        return tuple(sorted(made, key=lambda e: e.newest, reverse=True))

    return entries(roots, 0)


@router.get("/sidebar")
async def list_chats(page: PageAsked, q: str = "", at: str | None = None) -> Response:
    """The list alone, for a search or when something changed."""
    if not page.wants_fragment:
        return page.page("chats.html", here="chats", sidebar=await sidebar_of(page, at, q), view="list")
    return page.page("chat_list.html", sidebar=await sidebar_of(page, at, q))
