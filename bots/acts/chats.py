"""Between chats, and the rest: chats, switch, stop, approvals, web, help."""

from __future__ import annotations

from collections.abc import Sequence

from turnback.bots.asking import Asked
from turnback.bots.commands import CATALOGUE, STEP, Chats, Decide, Help, Stop, Switch, Web
from turnback.bots.replies import Button, Option, Reply, Select
from turnback.bots.telling import age, telling_apart
from turnback.bots.words import printable
from turnback.core.errors import InvalidRequest, NotFound, Unauthorized
from turnback.core.models import GateId, Thread, ThreadId
from turnback.core.policy import Right
from turnback.core.reading import SHORTEST_REFERENCE

PAGE = 20
"""Chats on a page."""


async def chats(asked: Asked, command: Chats) -> Reply:
    """`/chats`."""
    mine = await _mine(asked)
    if not mine:
        return Reply(text="You have no chats yet. Write something to begin one.", private=True)
    pages = -(-len(mine) // PAGE)
    page = min(command.page, pages)
    shown = mine[(page - 1) * PAGE : page * PAGE]
    ids = telling_apart([thread.id for thread in mine])
    lines = [_line(asked, thread, ids[thread.id]) for thread in shown]
    title = "Your chats" + (f", page {page} of {pages}" if pages > 1 else "") + ", newest first:"
    buttons = tuple(Button(label=f"Page {n}", command=f"/chats {n}") for n in (page - 1, page + 1) if 1 <= n <= pages)
    options = tuple(Option(label=printable(t.title, 60), detail=ids[t.id], command=f"/switch {t.id}") for t in shown)
    return Reply(
        text="\n".join([title, *lines, "/switch ID talks into another one from here."]),
        buttons=buttons,
        select=Select(placeholder="Switch to", options=options),
        private=True,
        replaces=True,
    )


async def switch(asked: Asked, command: Switch) -> Reply:
    """`/switch THREAD`: this place talks into another of my threads."""
    target = await _pick(asked, command.thread)
    if target.id == asked.found:
        return Reply(text=f"This is that chat already: {_title(target)}.")
    if asked.place.group:
        if asked.found is not None:
            await asked.app.rewind.thread(asked.actor, asked.found, Right.REWIND)
        if not target.group:
            raise InvalidRequest("That chat is your own; others here could read it. Switch to it in a private chat.")
    await asked.places.bind(asked.actor, asked.place, target)
    buttons = await _ways_back(asked, target)
    if asked.place.can.binds:
        return Reply(text=f"Now talking into {_title(target)}.", buttons=buttons, switch_to=target.id)
    if asked.links:
        buttons = (Button(label="Open", url=asked.links.thread_url(target.id)), *buttons)
    return Reply(text=f"Go on in {_title(target)}: {target.id}", buttons=buttons, switch_to=target.id)


async def stop(asked: Asked, command: Stop) -> Reply:
    """`/stop`."""
    del command
    stopped = await asked.app.turns.stop(asked.actor, asked.thread_id)
    return Reply(text=f"Stopped{asked.by}." if stopped else "Nothing is running.")


async def decide(asked: Asked, command: Decide) -> Reply:
    """Approve and Deny, under an approval's card. Whoever presses is asked for their right anew."""
    gate = await asked.app.threads.find_gate(GateId(command.gate))
    if gate is None:
        raise NotFound("There is no such approval any more.")
    await asked.app.turns.decide(asked.actor, gate.thread_id, gate.id, command.approve)
    return Reply(text=f"{'Approved' if command.approve else 'Denied'}{asked.by}: {printable(gate.tool, 40)}.")


async def web(asked: Asked, command: Web) -> Reply:
    """`/web`: a link that signs in, for the asker's eyes only."""
    del command
    if asked.links is None:
        raise InvalidRequest("There is no web page here.")
    account = await asked.app.threads.find_account(asked.actor.account)
    if account is None:
        raise Unauthorized
    url = asked.links.sign_in_url(await asked.app.people.create_link(account))
    return Reply(
        text="This link signs you in on the page. It works once, for 10 minutes; do not pass it on.",
        buttons=(Button(label="Sign in", url=url),),
        private=True,
    )


async def help_(asked: Asked, command: Help) -> Reply:
    """`/help`."""
    del command
    lines = [f"{u.usage}: {u.does}" for u in CATALOGUE if asked.actor.admin or not u.admin]
    return Reply(text="\n".join(["What you can ask here:", *lines, f"{STEP[0].upper()}{STEP[1:]}."]))


async def _mine(asked: Asked) -> Sequence[Thread]:
    return await asked.app.rewind.threads(asked.actor)


async def _ways_back(asked: Asked, target: Thread) -> tuple[Button, ...]:
    """Back to a fork's origin, or to the chat that this place talked into before, if it is the asker's."""
    origin = target.forked_from.thread_id if target.forked_from else None
    if origin is not None and await _is_mine(asked, origin):
        return (Button(label="Back to origin", command=f"/switch {origin}"),)
    if asked.found is not None and await _is_mine(asked, asked.found):
        return (Button(label="Back", command=f"/switch {asked.found}"),)
    return ()


async def _is_mine(asked: Asked, thread_id: ThreadId) -> bool:
    return bool(await asked.app.rewind.find_threads(asked.actor, thread_id))


async def _pick(asked: Asked, wanted: str) -> Thread:
    fitting = await asked.app.rewind.find_threads(asked.actor, wanted) if len(wanted) >= SHORTEST_REFERENCE else ()
    if not fitting:
        raise NotFound("You have no such chat. /chats shows them.")
    if len(fitting) > 1 and fitting[0].id != wanted:
        raise InvalidRequest("Several of your chats begin like that. Give more characters: /chats shows them.")
    return fitting[0]


def _line(asked: Asked, thread: Thread, shown: str) -> str:
    here = "→ " if thread.id == asked.found else ""
    return f"{here}{shown} · {printable(thread.title, 60)} · {age(thread.updated_at, asked.now)}"


def _title(thread: Thread) -> str:
    return f"“{printable(thread.title, 60)}”"
