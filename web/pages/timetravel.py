"""Time Travel at /replay: a conversation's steps with their branches, one of them opened, and what can be
done from there. Everything has an address; htmx swaps parts where there is a script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from turnback.core.answers import Listing
from turnback.core.errors import AmbiguousStep, InvalidRequest, NotFound, Refusal, WorkspaceChanged
from turnback.core.models import ID, Step, StepId, StepView, Thread, ThreadId
from turnback.web.answers import Answer
from turnback.web.pages.frame import Page, PageAsked, page_router
from turnback.web.pages.urls import chat_url
from turnback.web.timetravel.addresses import clear_url, compare_url, steps_url
from turnback.web.timetravel.consequences import Would, foresee
from turnback.web.timetravel.contents import Key, Messages, read_messages, read_state
from turnback.web.timetravel.layout import Choice, chosen
from turnback.web.timetravel.scene import Limits, Scene, set_up
from turnback.web.timetravel.wording import Note, did, in_the_way, main_argument, on_one_line, where

router = page_router()

PICKED = 60
"""Conversations that the picker names; the rest are on a page of their own."""

_PARTS = {
    "opened": "replay_opened.html",
    "overview": "replay_opened.html",
    "would": "replay_opened.html",
    "steps": "replay_steps.html",
}
"""What htmx may ask for by the id of its target, and the template that makes it."""

_WORDS = {
    "restored": "Restored. Your next message continues from here.",
    "brought": "Brought back. Your next message continues from here.",
    "labelled": "The label is set.",
    "unlabelled": "The label is off.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A step that is open: what is in it, and what restoring it would mean."""

    view: StepView
    messages: Messages
    keys: tuple[Key, ...]
    would: Would
    branches: int

    @property
    def step(self) -> Step:
        """The step."""
        return self.view.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Files that somebody else changed, and the word that replaces them all the same."""

    files: tuple[Mapping[str, Any], ...]
    token: str


@router.get("/replay")
async def look(page: PageAsked, thread: str = "", step: str = "", messages: str = "", done: str = "") -> Response:
    """A conversation's steps, maybe one of them opened; without a conversation, the newest."""
    threads = [*await page.web.service.rewind.threads(page.actor)]
    if not thread:
        if not threads:
            return page.page("replay_chats.html", here="replay", rows=[])
        thread = threads[0].id
    note = Note(text=_WORDS[done], alert=False) if done in _WORDS else None
    answer = await _show(page, thread, step, threads=threads, messages=messages, note=note)
    if note is not None:  # what was done is said once: the address to come back to does not say it again
        answer.headers["HX-Push-Url"] = steps_url(ThreadId(thread), _choice(page.request.query_params), _whole(step))
    return answer


@router.get("/replay/chats")
async def pick(page: PageAsked) -> Response:
    """Every conversation with what its steps use."""
    rows = await page.web.service.rewind.list_threads(page.actor)
    return page.page("replay_chats.html", here="replay", rows=rows)


@router.get("/replay/state")
async def state(page: PageAsked, thread: str = "", step: str = "") -> Response:
    """The whole state of a step, as JSON."""
    return Answer((await page.web.service.rewind.show(page.actor, thread, step)).state)


@router.get("/replay/clear")
async def ask_to_clear(page: PageAsked, thread: str = "") -> Response:
    """The question before a conversation's steps are deleted."""
    return await _show(page, thread, asking=True)


@router.post("/replay/restore")
async def restore(page: PageAsked) -> Response:
    """Take the conversation to a step."""
    form = await page.form()
    thread, step = form.get("thread", ""), form.get("step", "")
    try:
        if _limits(page).discard and form.get("discard") != "yes":
            raise InvalidRequest("Going back deletes what is left for good now. Read what would go, then restore.")
        told = await page.web.service.rewind.restore(
            page.actor, thread, step, confirm_files=form.get("confirm_files") or None
        )
    except Refusal as refusal:
        return await _not_done(page, thread, step, form, refusal)
    head = told.head.step.id if told.head else None
    done = {} if told.unchanged else {"done": "restored"}
    return page.redirect(steps_url(ThreadId(thread), _choice(form), head, **done))


@router.post("/replay/redo")
async def bring_back(page: PageAsked) -> Response:
    """Reverse the move that the button names; if something newer lies on top, nothing."""
    form = await page.form()
    thread = form.get("thread", "")
    try:
        told = await page.web.service.rewind.redo(
            page.actor, thread, only=form.get("only", ""), confirm_files=form.get("confirm_files") or None
        )
    except Refusal as refusal:
        return await _not_done(page, thread, form.get("step", ""), form, refusal)
    head = told.head.step.id if told.head else None
    return page.redirect(steps_url(ThreadId(thread), _choice(form), head, done="brought"))


@router.post("/replay/fork")
async def fork(page: PageAsked) -> Response:
    """Branch a step into a chat of one's own, and open that."""
    form = await page.form()
    thread, step = form.get("thread", ""), form.get("step", "")
    try:
        made = await page.web.service.rewind.fork(page.actor, thread, step)
    except Refusal as refusal:
        return await _not_done(page, thread, step, form, refusal)
    return page.redirect(chat_url(made.thread.id))


@router.post("/replay/label")
async def label(page: PageAsked) -> Response:
    """Name a step; an empty name takes it off."""
    form = await page.form()
    thread, step, name = form.get("thread", ""), form.get("step", ""), form.get("label", "").strip().lstrip("@")
    try:
        view = await page.web.service.rewind.label(page.actor, thread, step, name or None)
    except Refusal as refusal:
        return await _not_done(page, thread, step, form, refusal)
    done = "labelled" if name else "unlabelled"
    return page.redirect(steps_url(ThreadId(thread), _choice(form), view.step.id, done=done))


@router.post("/replay/clear")
async def clear(page: PageAsked) -> Response:
    """Delete a conversation's steps."""
    form = await page.form()
    thread = form.get("thread", "")
    try:
        await page.web.service.rewind.clear(page.actor, thread)
    except Refusal as refusal:
        return await _not_done(page, thread, "", form, refusal)
    return page.redirect(steps_url(ThreadId(thread)))


async def _show(
    page: Page,
    thread_id: str,
    ref: str = "",
    *,
    status: int = 200,
    threads: list[Thread] | None = None,
    choice: Choice | None = None,
    messages: str = "",
    note: Note | None = None,
    drift: Drift | None = None,
    asking: bool = False,
) -> Response:
    """The page, or the part of it that is asked for. A step that cannot be shown is a note in its place."""
    rewind = page.web.service.rewind
    limits = _limits(page)
    listing = await rewind.list_steps(page.actor, thread_id, everything=True)
    threads = threads if threads is not None else [*await rewind.threads(page.actor)]
    part = page.request.headers.get("hx-target", "") if "hx-request" in page.request.headers else ""
    opened: Opened | None = None
    if ref and not asking and part != "steps":
        try:
            opened = await _open(page, listing, ref, messages, limits)
        except Refusal as refusal:
            status = refusal.status if status == 200 and part != "would" else status
            note = _note(refusal, listing.thread) if note is None else note
    scene = set_up(
        listing,
        choice=choice or _choice(page.request.query_params),
        opened=opened.step.id if opened else _whole(ref) if part == "steps" else None,
        threads=threads,
        limits=limits,
        note=note,
    )
    return await asyncio.to_thread(  # a long list takes longer to render than the loop may be held
        page.page,
        _PARTS.get(part, "replay.html"),
        status,
        here="replay",
        scene=scene,
        opened=opened,
        asking=asking,
        drift=drift,
        part=part,
        picker=_picker(scene, threads),
        say=_SAYINGS,
    )


async def _open(page: Page, listing: Listing, ref: str, start: str, limits: Limits) -> Opened:
    rewind = page.web.service.rewind
    thread = listing.thread
    detail = await rewind.show(page.actor, thread.id, ref)
    preview = await rewind.preview(page.actor, thread.id, detail.view.step.id)
    first = int(start) if start.isdecimal() and len(start) < 9 else None
    mine = not thread.group and thread.owner == page.actor.account
    shown = await asyncio.to_thread(
        lambda: (read_messages(detail.messages, first, you="You" if mine else "User"), read_state(detail.state))
    )
    return Opened(
        view=detail.view,
        messages=shown[0],
        keys=tuple(shown[1]),
        would=foresee(listing, detail.view, preview, discard=limits.discard, chat_url=chat_url(thread.id)),
        branches=_branches_at(listing, detail.view),
    )


def _branches_at(listing: Listing, view: StepView) -> int:
    """How many runs went on from a step beside its own."""
    children = {v.step.at.branch for v in listing.steps if v.parent == view.step.id}
    return len(children - {view.step.at.branch})


async def _not_done(page: Page, thread_id: str, step: str, form: Mapping[str, str], refusal: Refusal) -> Response:
    """The page as it is, with why nothing was done."""
    thread = await page.web.service.rewind.thread(page.actor, thread_id)  # a foreign one is refused as a whole
    drift = Drift(files=refusal.files, token=refusal.files_token) if isinstance(refusal, WorkspaceChanged) else None
    answer = await _show(
        page,
        thread_id,
        _whole(step) or "",
        status=refusal.status,
        choice=_choice(form),
        note=_note(refusal, thread),
        drift=drift,
    )
    answer.headers["HX-Push-Url"] = "false"  # the address of a form is no place to come back to
    return answer


def _note(refusal: Refusal, thread: Thread) -> Note:
    note = in_the_way(refusal, chat_url(thread.id))
    if isinstance(refusal, AmbiguousStep):
        spots = ", ".join(
            f"{c['id'][:12]} (turn {c['turn_index']}, step {c['number']})" for c in refusal.candidates[:6]
        )
        return replace(note, text=f"{note.text} {spots}")
    if isinstance(refusal, NotFound):
        return replace(note, text="There is no such step here: it was removed, or the address is not whole.")
    return note


def _whole(step: str) -> StepId | None:
    return StepId(step) if ID.fullmatch(step) else None


def _choice(fields: Mapping[str, str]) -> Choice:
    return chosen(fields.get("open", ""), fields.get("shut", ""), fields.get("aside", ""))


def _limits(page: Page) -> Limits:
    """The running settings that matter here."""
    running = {row["key"]: row["running"] for row in page.web.settings.rows()}
    usual = Limits()
    return Limits(
        discard=running.get("time_travel.on_restore") == "discard",
        steps=running.get("time_travel.max_snapshots", usual.steps),
        bytes=running.get("time_travel.max_thread_bytes", usual.bytes),
    )


def _picker(scene: Scene, threads: list[Thread]) -> list[Thread]:
    """The conversations of the picker: the newest, and the one that is shown."""
    newest = threads[:PICKED]
    return newest if any(t.id == scene.thread.id for t in newest) else [scene.thread, *newest]


_SAYINGS = {
    "branches": lambda n: "1 branch" if n == 1 else f"{n} branches",
    "clear_url": clear_url,
    "compare_url": compare_url,
    "did": did,
    "main_argument": main_argument,
    "on_one_line": on_one_line,
    "steps_url": steps_url,
    "where": where,
}
"""Functions that the templates call."""
