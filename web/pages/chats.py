"""The start, a new chat, and what can be done with a chat as a whole: rename it, forget, delete it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.responses import FileResponse, Response

from turnback.core.errors import InvalidRequest, StoreUnavailable
from turnback.core.models import Fact, Thread
from turnback.core.policy import Right
from turnback.web.pages.assets import STATIC
from turnback.web.pages.frame import Page, PageAsked, page_router
from turnback.web.pages.sidebar import sidebar_of

router = page_router()

LONGEST_TITLE = 200

_COMMAND = re.compile(r"\s*/[A-Za-z]+(\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a chat holds, and what would go with it. `steps` is None where they cannot be read."""

    thread: Thread
    messages: int
    turns: int
    steps: int | None
    facts: tuple[Fact, ...]
    forks: int
    may_change: bool


@router.get("/")
async def start(page: PageAsked) -> Response:
    """My chats, and a box to begin another; on a phone the list."""
    return page.page("chats.html", here="chats", sidebar=await sidebar_of(page), view="list")


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The mark in the browser's tab."""
    return FileResponse(STATIC / "favicon.svg", media_type="image/svg+xml")


@router.get("/new")
async def begin(page: PageAsked) -> Response:
    """A box to begin a chat."""
    return page.page("chats.html", here="chats", sidebar=await sidebar_of(page), view="")


@router.post("/new")
async def create(page: PageAsked) -> Response:
    """Begin a chat with its first message."""
    text = (await page.form()).get("text", "")
    if not text.strip():
        raise InvalidRequest("A message needs some text.")
    if _COMMAND.match(text):
        raise InvalidRequest("A new chat has nothing to go back to. Begin with a message; commands work after it.")
    service = page.web.service
    thread = await service.rewind.create_thread(page.actor)
    await service.turns.send(page.actor, thread.id, text)
    return page.redirect(f"/chats/{thread.id}")


@router.get("/chats/{thread_id}/about")
async def about(page: PageAsked, thread_id: str) -> Response:
    """What a chat holds; its name; what deleting it would delete."""
    return page.page(
        "about.html", here="chats", sidebar=await sidebar_of(page, thread_id), about=await _about(page, thread_id)
    )


@router.post("/chats/{thread_id}/rename")
async def rename(page: PageAsked, thread_id: str) -> Response:
    """Give a chat another name."""
    title = (await page.form()).get("title", "")
    await page.web.service.rewind.rename(page.actor, thread_id, title[: 4 * LONGEST_TITLE])
    return page.redirect(f"/chats/{thread_id}")


@router.post("/chats/{thread_id}/delete")
async def delete(page: PageAsked, thread_id: str) -> Response:
    """Delete a chat and all of it for good."""
    await page.web.service.rewind.delete(page.actor, thread_id)
    return page.redirect("/")


@router.post("/chats/{thread_id}/forget/{fact}")
async def forget(page: PageAsked, thread_id: str, fact: str) -> Response:
    """Forget one thing that the agent remembers here."""
    await page.web.service.rewind.forget(page.actor, thread_id, fact)
    return page.redirect(f"/chats/{thread_id}/about")


async def _about(page: Page, thread_id: str) -> About:
    rewind = page.web.service.rewind
    view = await rewind.view(page.actor, thread_id, Right.READ)
    rows = await rewind.transcript(page.actor, thread_id, everything=True)
    try:
        usage = (await page.web.service.steps.usage([view.thread.id])).get(view.thread.id)
        steps: int | None = usage.steps if usage else 0
    except StoreUnavailable:
        steps = None
    mine = await rewind.threads(page.actor)
    return About(
        thread=view.thread,
        messages=len(rows),
        turns=len(view.turns),
        steps=steps,
        facts=tuple(await rewind.facts(page.actor, thread_id)),
        forks=sum(t.forked_from is not None and t.forked_from.thread_id == view.thread.id for t in mine),
        may_change=not view.thread.group or page.actor.admin or page.actor.account == view.thread.owner,
    )
