"""Two steps side by side, at /replay/compare: steps of one conversation, of a fork, or a step and now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from turnback.core.answers import Listing
from turnback.core.errors import InvalidRequest
from turnback.core.models import ID, Step, StepView, Thread
from turnback.web.pages.filters import ago
from turnback.web.pages.frame import PageAsked, page_router
from turnback.web.timetravel.addresses import compare_url, steps_url
from turnback.web.timetravel.comparing import Comparison, read_common, read_comparison
from turnback.web.timetravel.consequences import path_to
from turnback.web.timetravel.contents import Message
from turnback.web.timetravel.wording import SHORT_ID, on_one_line, where

router = page_router()

OFFERED = 100
"""Steps that a choice offers beside those that have a label or are chosen."""

_COMMON_TEXT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A choice: what it sends, what it says."""

    value: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One of the two: how it is called, and what it is to the chat. `step` is None for now."""

    step: Step | None
    words: str
    options: tuple[Option, ...]
    others: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What an address calls one end: a step of a thread, or (None) where that stands now."""

    thread_id: str
    step: str | None

    @property
    def value(self) -> str:
        """As a choice sends it."""
        return f"{self.thread_id}:{self.step or ''}"


@router.get("/replay/compare")
async def compare(page: PageAsked, thread: str = "", a: str = "", b: str = "") -> Response:
    """What differs between `a` and `b`: ids of steps, `thread:step`, `thread:` or nothing for now."""
    rewind = page.web.service.rewind
    left, right = _named(thread, a), _named(thread, b)
    listing = await rewind.list_steps(page.actor, thread, everything=True)
    if left.step is None or left.thread_id != thread:
        if listing.head is None:
            raise InvalidRequest("There is no step here to compare with yet.")
        left = Named(thread_id=thread, step=listing.head)
    seen = await rewind.show(page.actor, thread, left.step or "")
    other = right.thread_id if right.thread_id != thread else None
    result = await rewind.compare(page.actor, thread, seen.view.step.id, right.step, other)
    shown = await asyncio.to_thread(lambda: read_comparison(result, seen.state))
    common, before = read_common(seen.messages, shown.common)
    there = await rewind.resolve(page.actor, right.thread_id, right.step) if right.step else None
    threads = [*await rewind.threads(page.actor)]
    return await asyncio.to_thread(
        page.page,
        "replay_compare.html",
        here="replay",
        thread=listing.thread,
        shown=shown,
        a=_end_a(listing, seen.view, page.now),
        b=_end_b(listing, right, there, threads, page.now),
        common=common,
        common_before=before,
        common_words=_common_words(common, shown),
        parts=_parting(listing, seen.view, there) if other is None else "",
        swapped=_swapped(listing, seen.view, right, there),
        back=steps_url(listing.thread.id, step=seen.view.step.id),
        json_body=_json_body(listing.thread, seen.view, right),
    )


def _named(thread_id: str, text: str) -> Named:
    before, colon, after = text.partition(":")
    if colon and ID.fullmatch(before):
        return Named(thread_id=before, step=after or None)
    return Named(thread_id=thread_id, step=text or None)


def _end_a(listing: Listing, view: StepView, now: datetime) -> End:
    options = tuple(
        Option(value=v.step.id, text=_words(v, now), chosen=v.step.id == view.step.id)
        for v in _offered(listing, view.step.id)
    )
    return End(step=view.step, words=_standing(view), options=options)


def _end_b(listing: Listing, named: Named, view: StepView | None, threads: Sequence[Thread], now: datetime) -> End:
    mine = named.thread_id == listing.thread.id
    chosen = view.step.id if view and mine else None
    options = (
        Option(value="", text="now: where the chat stands", chosen=mine and view is None),
        *(Option(value=v.step.id, text=_words(v, now), chosen=v.step.id == chosen) for v in _offered(listing, chosen)),
    )
    others = [
        Option(value=f"{t.id}:", text=f"{on_one_line(t.title, 60)}: where it stands", chosen=_is_now(named, t))
        for t in threads
        if _is_kin(listing.thread, t)
    ]
    if view is not None and not mine:
        others.append(Option(value=named.value, text=_words(view, now), chosen=True))
    words = _standing(view) if view else "where the chat stands now" if mine else "where that chat stands now"
    return End(step=view.step if view else None, words=words, options=options, others=tuple(others))


def _is_now(named: Named, thread: Thread) -> bool:
    return named.step is None and named.thread_id == thread.id


def _is_kin(thread: Thread, other: Thread) -> bool:
    """A fork of the thread, its origin, or another fork of that."""
    origins = {t.forked_from.thread_id for t in (thread, other) if t.forked_from}
    return other.id != thread.id and (bool(origins & {thread.id, other.id}) or _same_origin(thread, other))


def _same_origin(a: Thread, b: Thread) -> bool:
    return (
        a.forked_from is not None and b.forked_from is not None and a.forked_from.thread_id == b.forked_from.thread_id
    )


def _offered(listing: Listing, chosen: str | None) -> list[StepView]:
    """The newest steps, and those that have a label or are chosen; newest first."""
    newest = {view.step.id for view in listing.steps[-OFFERED:]}
    picked = [v for v in listing.steps if v.step.id in newest or v.step.label or v.step.id == chosen]
    return picked[::-1]


def _words(view: StepView, now: datetime) -> str:
    step = view.step
    parts = [where(step), step.id[:SHORT_ID], ago(step.created_at, now), on_one_line(step.summary, 48)]
    if step.label:
        parts.insert(1, f"★ {step.label}")
    if not view.on_path:
        parts.append("set aside")
    return " · ".join(part for part in parts if part)


def _standing(view: StepView) -> str:
    if view.head:
        return "where the chat stands"
    return "on the path" if view.on_path else "set aside"


def _parting(listing: Listing, a: StepView, b: StepView | None) -> str:
    """The newest step that both went through: `turn 3, step 2`."""
    steps = {view.step.id: view for view in listing.steps}
    if b is None:
        b = next((view for view in listing.steps if view.head), None)
    if b is None:
        return ""
    through = {view.step.id for view in path_to(steps, a)}
    shared = next((view for view in path_to(steps, b) if view.step.id in through), None)
    return where(shared.step) if shared else ""


def _swapped(listing: Listing, a: StepView, named: Named, b: StepView | None) -> str:
    """The address with the two exchanged; none where the other end is no step of this chat."""
    if named.thread_id != listing.thread.id:
        return ""
    other = b.step.id if b else listing.head
    return compare_url(listing.thread.id, other, a.step.id) if other else ""


def _common_words(common: Sequence[Message], shown: Comparison) -> str:
    """From which words to which the common beginning goes."""
    if not common or shown.common < 1:
        return ""
    said = [text for message in common if (text := on_one_line(message.text, _COMMON_TEXT))]
    if not said:
        return ""
    return f"from “{said[0]}” to “{said[-1]}”" if len(said) > 1 else f"“{said[0]}”"


def _json_body(thread: Thread, a: StepView, b: Named) -> dict[str, str]:
    """What the API is asked for the same comparison."""
    body = {"thread_id": str(thread.id), "a": str(a.step.id)}
    if b.step:
        body["b"] = b.step
    if b.thread_id != thread.id:
        body["b_thread_id"] = b.thread_id
    return body
