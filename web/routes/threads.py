"""Conversations over HTTP: start, read, rename, delete, talk, stop, approve, forget."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response

from turnback.core import shapes
from turnback.core.turns import TurnResult
from turnback.web import requests, schemas
from turnback.web.answers import Answer
from turnback.web.auth import SECURITY, Asking
from turnback.web.openapi import ACT, LOOK
from turnback.web.parts import Web

router = APIRouter(prefix="/api/threads", tags=["conversations"], dependencies=SECURITY)

Include = Literal["all"] | None


@router.get("", response_model=schemas.Threads, responses=LOOK)
async def list_threads(actor: Asking, web: Web) -> Answer:
    """My conversations, newest first."""
    return Answer({"threads": [shapes.thread_json(t) for t in await web.service.rewind.threads(actor)]})


@router.post("", status_code=201, response_model=schemas.Started, responses=ACT)
async def create_thread(actor: Asking, web: Web, body: requests.NewThread | None = None) -> Answer:
    """Start a conversation."""
    thread = await web.service.rewind.create_thread(actor, body.title if body else None)
    return Answer({"thread_id": thread.id, "title": thread.title, "url": web.site.thread_url(thread.id)}, 201)


@router.get("/{thread_id}", response_model=schemas.Thread, responses=LOOK)
async def show_thread(actor: Asking, web: Web, thread_id: str) -> Answer:
    """A conversation."""
    return Answer(shapes.thread_json(await web.service.rewind.thread(actor, thread_id)))


@router.patch("/{thread_id}", response_model=schemas.Thread, responses=ACT)
async def rename_thread(actor: Asking, web: Web, thread_id: str, body: requests.Rename) -> Answer:
    """Give a conversation another title."""
    return Answer(shapes.thread_json(await web.service.rewind.rename(actor, thread_id, body.title)))


@router.delete("/{thread_id}", status_code=204, response_class=Response, responses=ACT)
async def delete_thread(actor: Asking, web: Web, thread_id: str) -> Response:
    """Delete a conversation with everything in it, for good; its forks stay."""
    await web.service.rewind.delete(actor, thread_id)
    return Response(status_code=204)


@router.get(
    "/{thread_id}/messages",
    response_model=schemas.Messages,
    response_model_exclude_unset=True,
    responses=LOOK,
)
async def transcript(actor: Asking, web: Web, thread_id: str, include: Include = None) -> Answer:
    """The messages as people saw them; `include=all` adds what is set aside, and says which."""
    everything = include == "all"
    rows = await web.service.rewind.transcript(actor, thread_id, everything=everything)
    return Answer(
        {"messages": [shapes.message_json(row, set_aside=aside if everything else None) for row, aside in rows]}
    )


@router.post(
    "/{thread_id}/messages",
    status_code=202,
    response_model=schemas.Sent,
    responses={**ACT, 200: {"model": schemas.TurnResult, "description": "The turn's end, or its halt (`wait=true`)."}},
)
async def send(actor: Asking, web: Web, thread_id: str, body: requests.Say, wait: bool = False) -> Answer:
    """Say something to the agent; every text is chat here. With `wait`, answers when the turn ends or halts."""
    if wait:
        return _result(await web.service.turns.ask(actor, thread_id, body.text))
    sent = await web.service.turns.send(actor, thread_id, body.text)
    return Answer({"turn_index": sent.turn_index, "status": sent.status}, 202)


@router.post("/{thread_id}/commands", response_model=schemas.Spoken, responses=ACT)
async def command(actor: Asking, web: Web, thread_id: str, body: requests.Say) -> Answer:
    """Say a command, as in any chat; a button's `command` is sent the same way."""
    thread = await web.service.rewind.thread(actor, thread_id)
    return Answer(dict(await web.commands(actor, thread.id, body.text)))


@router.post("/{thread_id}/stop", status_code=202, response_model=schemas.Stopped, responses=ACT)
async def stop(actor: Asking, web: Web, thread_id: str) -> Answer:
    """Stop the running turn; `stopped` is false where none runs."""
    return Answer({"stopped": await web.service.turns.stop(actor, thread_id)}, 202)


@router.post("/{thread_id}/reset", response_model=schemas.Rewound, responses=ACT)
async def reset(actor: Asking, web: Web, thread_id: str) -> Answer:
    """Go back to before the first turn; the steps stay."""
    return Answer(shapes.rewound_json(await web.service.rewind.reset(actor, thread_id)))


@router.post(
    "/{thread_id}/approvals/{gate}",
    status_code=202,
    response_model=schemas.Decided,
    responses={**ACT, 200: {"model": schemas.TurnResult, "description": "The turn's end, or its halt (`wait=true`)."}},
)
async def decide(
    actor: Asking, web: Web, thread_id: str, gate: str, body: requests.Decide, wait: bool = False
) -> Answer:
    """Approve or deny what a turn waits for."""
    if wait:
        return _result(await web.service.turns.decided(actor, thread_id, gate, body.approve))
    decided = await web.service.turns.decide(actor, thread_id, gate, body.approve)
    return Answer({"gate": shapes.gate_json(decided), "status": decided.status.value}, 202)


@router.get("/{thread_id}/memory", response_model=schemas.Memory, responses=LOOK)
async def facts(actor: Asking, web: Web, thread_id: str) -> Answer:
    """What the agent was asked to remember here."""
    return Answer({"facts": [shapes.fact_json(f) for f in await web.service.rewind.facts(actor, thread_id)]})


@router.delete("/{thread_id}/memory/{fact}", status_code=204, response_class=Response, responses=ACT)
async def forget(actor: Asking, web: Web, thread_id: str, fact: str) -> Response:
    """Forget a fact, and delete the conversation's steps from the turn that learned it on."""
    await web.service.rewind.forget(actor, thread_id, fact)
    return Response(status_code=204)


def _result(result: TurnResult) -> Answer:
    return Answer(
        {
            "turn_index": result.turn_index,
            "status": result.status,
            "reply": result.reply,
            "gates": [shapes.gate_json(gate) for gate in result.gates],
        }
    )
