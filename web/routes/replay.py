"""The time machine over HTTP: `/api/replay/…`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header

from turnback.core import shapes
from turnback.core.recording import Report
from turnback.web import requests, schemas
from turnback.web.answers import Answer, StateAnswer
from turnback.web.auth import SECURITY, Asking
from turnback.web.openapi import ACT, LOOK
from turnback.web.parts import Web

router = APIRouter(prefix="/api/replay", tags=["time travel"], dependencies=SECURITY)

Include = Literal["all"] | None


@router.get("/threads", response_model=schemas.ThreadsWithSteps, responses=LOOK)
async def list_threads(actor: Asking, web: Web) -> Answer:
    """My conversations, newest first, with what their steps use."""
    rows = await web.service.rewind.list_threads(actor)
    return Answer({"threads": [shapes.thread_steps_json(thread, usage) for thread, usage in rows]})


@router.get("/snapshots/{thread_id}", response_model=schemas.Snapshots, responses=LOOK)
async def list_steps(actor: Asking, web: Web, thread_id: str, include: Include = None) -> Answer:
    """The steps on a conversation's path in the order of saving; `include=all` adds what is set aside."""
    listing = await web.service.rewind.list_steps(actor, thread_id, everything=include == "all")
    return Answer(shapes.listing_json(listing))


@router.get("/snapshots/{thread_id}/{step}", response_model=schemas.StepDetail, responses=LOOK)
async def show_step(actor: Asking, web: Web, thread_id: str, step: str) -> StateAnswer:
    """A step with its state and its readable messages."""
    detail = await web.service.rewind.show(actor, thread_id, step)
    return StateAnswer({**shapes.step_json(detail.view), "state": detail.state, "messages": list(detail.messages)})


@router.post("/snapshots/{thread_id}", status_code=201, response_model=schemas.Recorded, responses=ACT)
async def record_step(
    actor: Asking,
    web: Web,
    thread_id: str,
    body: requests.RecordStep,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Answer:
    """Record a step of an agent in another process; it becomes the head."""
    report = Report(
        turn_index=body.turn_index,
        iteration=body.iteration,
        state=body.state,
        model=body.model,
        summary=body.summary,
    )
    recorded = await web.service.rewind.record(actor, thread_id, report, key=idempotency_key)
    return Answer({"result": recorded.result, "id": recorded.id}, 201)


@router.patch("/snapshots/{thread_id}/{step}", response_model=schemas.Step, responses=ACT)
async def label_step(actor: Asking, web: Web, thread_id: str, step: str, body: requests.Label) -> Answer:
    """Give a step a label, or take it off."""
    return Answer(shapes.step_json(await web.service.rewind.label(actor, thread_id, step, body.label)))


@router.post("/preview", response_model=schemas.Preview, responses=ACT)
async def preview(actor: Asking, web: Web, body: requests.StepNamed) -> Answer:
    """What a restore would do; nothing is done."""
    seen = await web.service.rewind.preview(actor, body.thread_id, body.snapshot_id)
    return Answer(shapes.preview_json(seen))


@router.post("/restore", response_model=schemas.Rewound, responses=ACT)
async def restore(actor: Asking, web: Web, body: requests.Restore) -> Answer:
    """Take a conversation to a step."""
    rewound = await web.service.rewind.restore(
        actor, body.thread_id, body.snapshot_id, confirm_files=body.confirm_files
    )
    return Answer(shapes.rewound_json(rewound))


@router.post("/fork", status_code=201, response_model=schemas.Fork, responses=ACT)
async def fork(actor: Asking, web: Web, body: requests.ForkStep) -> Answer:
    """Branch a step into a new conversation of mine."""
    made = await web.service.rewind.fork(actor, body.thread_id, body.snapshot_id)
    return Answer(shapes.fork_json(made, web.site.thread_url(made.thread.id)), 201)


@router.post("/compare", response_model=schemas.Comparison, responses=ACT)
async def compare(actor: Asking, web: Web, body: requests.Compare) -> Answer:
    """What differs between two steps, or a step and now."""
    return Answer(await web.service.rewind.compare(actor, body.thread_id, body.a, body.b, body.b_thread_id))


@router.post("/undo", response_model=schemas.Rewound, responses=ACT)
async def undo(actor: Asking, web: Web, body: requests.Rewind) -> Answer:
    """Go back to before the last `n` turns; past the beginning, to the beginning."""
    rewound = await web.service.rewind.undo(actor, body.thread_id, body.n, confirm_files=body.confirm_files)
    return Answer(shapes.rewound_json(rewound))


@router.post("/redo", response_model=schemas.Rewound, responses=ACT)
async def redo(actor: Asking, web: Web, body: requests.Rewind) -> Answer:
    """Reverse the last `n` undos, restores and resets, newest first; as many as there are, but one at least."""
    rewound = await web.service.rewind.redo(actor, body.thread_id, body.n, confirm_files=body.confirm_files)
    return Answer(shapes.rewound_json(rewound))


@router.delete("/threads/{thread_id}", response_model=schemas.Cleared, responses=ACT)
async def clear(actor: Asking, web: Web, thread_id: str) -> Answer:
    """Delete a conversation's steps; the conversation stays."""
    return Answer({"deleted": await web.service.rewind.clear(actor, thread_id)})
