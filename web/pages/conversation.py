"""A chat: what was said and done in it, the box to write in, approvals, and commands without the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import PlainTextResponse, Response

from turnback.core.errors import Forbidden, InvalidRequest, NotFound, StoreUnavailable
from turnback.core.models import (
    Account,
    AccountId,
    Action,
    Gate,
    Outcome,
    Thread,
    ThreadId,
    TranscriptRow,
)
from turnback.core.policy import Right
from turnback.core.state import messages
from turnback.core.threads.store import ThreadView, Waiting
from turnback.core.views import Placed, turn_index_on
from turnback.web.pages.frame import Page, PageAsked, page_router
from turnback.web.pages.sidebar import place_left, sidebar_of
from turnback.web.pages.talk import Moved, Source, Talk, talk_of
from turnback.web.pages.urls import chat_url

router = page_router()

PLAIN_WAIT = 3.0
"""Seconds that a browser without scripts waits for an answer before it is shown how far things are."""

_MOVES = (Action.RESTORE, Action.UNDO, Action.REDO, Action.RESET)
_MARK = re.compile(r"\s*[/!]")
_ABOUT_STEPS = re.compile(r"\s*[/!](replay|fork|undo|redo|reset)\b", re.IGNORECASE)

_SWITCH = re.compile(r"/switch ([0-9a-f]{32})")

COMMANDS = (
    ("/replay list", "what is saved here, turn by turn", True),
    ("/replay STEP", "take this chat back to that step", False),
    ("/replay show STEP", "open a step", False),
    ("/replay compare A B", "what differs between two steps", False),
    ("/replay tree", "all steps, also those set aside", True),
    ("/replay name STEP LABEL", "give a step a name", False),
    ("/replay clear", "delete this chat’s steps (asks first)", True),
    ("/fork", "branch the newest step into a new chat", True),
    ("/fork STEP", "branch that step into a new chat", False),
    ("/undo", "go back before the last turn", True),
    ("/redo", "bring back what the last undo or restore took", True),
    ("/reset", "start again; the steps stay", True),
    ("/stop", "stop what is running", True),
    ("/memory list", "what is remembered here", True),
    ("/help", "all commands", True),
)
"""What the box suggests: how it is typed, what it does, whether it is whole as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All that the page of a chat shows."""

    thread: Thread
    turn_index: int
    talk: Talk
    gates: tuple[Gate, ...]
    waiting: tuple[Waiting, ...]
    names: Mapping[AccountId, str]
    may_approve: bool
    origin: Thread | None
    left: str | None
    since: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a command answered: its words, and what can be pressed."""

    asked: str
    text: str
    buttons: tuple[Mapping[str, str], ...]
    error: str | None
    about_steps: bool


@router.get("/chats/{thread_id}")
async def show(page: PageAsked, thread_id: str, since: int | None = None) -> Response:
    """The chat, with the newest turns, or those since the turn numbered `since`."""
    return await _whole(page, thread_id, since)


@router.get("/chats/{thread_id}/log")
async def log(page: PageAsked, thread_id: str, since: int | None = None) -> Response:
    """The turns since one, as a fragment, with all that stands below them, and the head of the page."""
    return page.page("talk.html", alone=True, chat=await _conversation(page, thread_id, since))


@router.post("/chats/{thread_id}/say")
async def say(page: PageAsked, thread_id: str) -> Response:
    """A message for the agent, or a command, which is answered without it."""
    text = (await page.form()).get("text", "")
    thread = await page.web.service.rewind.thread(page.actor, thread_id)
    answered = await _command(page, thread.id, text) if _MARK.match(text) else None
    if answered is not None:
        if page.wants_fragment:
            return page.page("answered.html", thread=thread, answered=answered)
        with suppress(NotFound):  # the chat itself may be what was deleted
            return await _whole(page, thread_id, None, answered)
        return page.redirect("/")
    sent = await page.web.service.turns.send(page.actor, thread_id, text)
    if page.wants_fragment:
        return Response(status_code=204)
    with suppress(TimeoutError):
        async with asyncio.timeout(PLAIN_WAIT):
            await sent.progress.stage()
    return page.redirect(f"/chats/{thread_id}#end")


@router.post("/chats/{thread_id}/stop")
async def stop(page: PageAsked, thread_id: str) -> Response:
    """Stop the running turn."""
    await page.web.service.turns.stop(page.actor, thread_id)
    return Response(status_code=204) if page.wants_fragment else page.redirect(f"/chats/{thread_id}#end")


@router.post("/chats/{thread_id}/approvals/{gate}")
async def decide(page: PageAsked, thread_id: str, gate: str) -> Response:
    """Approve or deny a tool call."""
    answer = (await page.form()).get("answer", "")
    if answer not in ("approve", "deny"):
        raise InvalidRequest("answer: approve or deny")
    await page.web.service.turns.decide(page.actor, thread_id, gate, answer == "approve")
    return Response(status_code=204) if page.wants_fragment else page.redirect(f"/chats/{thread_id}#end")


@router.get("/chats/{thread_id}/messages/{row_id}")
async def whole_message(page: PageAsked, thread_id: str, row_id: str) -> Response:
    """All of a long message, as a fragment."""
    row = await _row(page, thread_id, row_id)
    return page.page("message.html", row=row)


@router.get("/chats/{thread_id}/messages/{row_id}/text")
async def message_text(page: PageAsked, thread_id: str, row_id: str) -> Response:
    """A message as a file."""
    row = await _row(page, thread_id, row_id)
    name = f"turn-{row.turn_index}-{row.role}.txt"
    return PlainTextResponse(
        row.text.encode("utf-8", "replace"), headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


async def _whole(page: Page, thread_id: str, since: int | None, answered: Answered | None = None) -> Response:
    chat = await _conversation(page, thread_id, since)
    return page.page(
        "chat.html",
        here="chats",
        sidebar=await sidebar_of(page, chat.thread.id),
        chat=chat,
        commands=COMMANDS,
        answered=answered,
    )


async def _conversation(page: Page, thread_id: str, since: int | None) -> Conversation:
    service = page.web.service
    view = await service.rewind.view(page.actor, thread_id, Right.READ)
    mine = await service.rewind.threads(page.actor)
    source = await _source(page, view, mine)
    forked = view.thread.forked_from
    return Conversation(
        thread=view.thread,
        turn_index=turn_index_on(view, source.placed.path),
        talk=talk_of(source, since),
        gates=view.gates,
        waiting=tuple(w for w in await service.threads.waiting() if w.thread_id == view.thread.id),
        names=await _names(page, source.rows),
        may_approve=bool(view.gates) and await _may_approve(page, thread_id),
        origin=next((t for t in mine if forked and t.id == forked.thread_id), None),
        left=await place_left(service.steps, view.thread) if forked else None,
        since=since,
    )


async def _source(page: Page, view: ThreadView, mine: Sequence[Thread]) -> Source:
    service, thread_id = page.web.service, view.thread.id
    readable: Sequence[Mapping[str, Any]] = ()
    placed, steps_readable = Placed(view, ()), True
    try:
        placed = await service.rewind.placed(view)
        if placed.head is not None:
            readable = messages.readable(await service.rewind.state_of(placed.head))
    except StoreUnavailable:
        steps_readable = False
    except NotFound:  # the newest step was dropped while we looked: its calls are shown by name
        pass
    return Source(
        view=view,
        placed=placed,
        rows=[row for row, _ in await service.rewind.transcript(page.actor, thread_id)],
        messages=readable,
        forks=[t for t in mine if t.forked_from and t.forked_from.thread_id == thread_id],
        moved=await _moved(page, thread_id) if view.returns else None,
        steps_readable=steps_readable,
    )


async def _may_approve(page: Page, thread_id: str) -> bool:
    try:
        await page.web.service.rewind.view(page.actor, thread_id, Right.APPROVE)
    except Forbidden:
        return False
    return True


async def _moved(page: Page, thread_id: ThreadId) -> Moved | None:
    """The newest move of the chat's head."""
    for entry in await page.web.service.threads.audit_trail(thread_id=thread_id, limit=20):
        if entry.action in _MOVES and entry.outcome is Outcome.DONE:
            by = "you" if entry.account == page.actor.account else entry.actor
            return None if entry.action is Action.REDO else Moved(action=entry.action, by=by)
    return None


async def _names(page: Page, rows: Sequence[TranscriptRow]) -> dict[AccountId, str]:
    """Who wrote here, by account."""
    names: dict[AccountId, str] = {page.actor.account: "You"}
    for author in {row.author for row in rows if row.author is not None} - set(names):
        account: Account | None = await page.web.service.threads.find_account(author)
        names[author] = account.name if account else "Somebody who is gone"
    return names


async def _command(page: Page, thread_id: ThreadId, text: str) -> Answered | None:
    """The answer to a command; None for a text that only begins like one."""
    try:
        said = await page.web.commands(page.actor, thread_id, text)
    except InvalidRequest:
        return None
    return Answered(
        asked=text.strip(),
        text=str(said["text"]),
        buttons=_buttons(page, said["buttons"]),
        error=said["error"],
        about_steps=_ABOUT_STEPS.match(text) is not None,
    )


def _buttons(page: Page, buttons: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, str], ...]:
    """What can be pressed: addresses of ours as paths, and a switch to another chat as the way to it."""
    made: dict[str, Mapping[str, str]] = {}
    for button in buttons:
        label, url, command = str(button["label"]), button.get("url"), str(button.get("command"))
        switch = _SWITCH.fullmatch(command)
        if url is not None or switch is not None:
            path = str(url).removeprefix(page.web.site.url) if switch is None else chat_url(switch[1])
            made.setdefault(path or "/", {"label": label, "url": path or "/"})
        else:
            made[command] = {"label": label, "command": command}
    return tuple(made.values())


async def _row(page: Page, thread_id: str, row_id: str) -> TranscriptRow:
    rows = await page.web.service.rewind.transcript(page.actor, thread_id, everything=True)
    found = next((row for row, _ in rows if row.id == row_id), None)
    if found is None:
        raise NotFound("There is no such message here.")
    return found
