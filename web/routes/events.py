"""The event stream: `/api/events`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from turnback.core.models import Actor
from turnback.web.auth import SECURITY, Asking, identify
from turnback.web.openapi import problems
from turnback.web.parts import Web

router = APIRouter(prefix="/api", tags=["events"], dependencies=SECURITY)


@router.get(
    "/events",
    response_class=Response,
    responses={
        200: {
            "description": "Server-sent events: snapshot, message, delta, turn_started, turn_finished, approval, "
            "reload, threads. Goes on after `Last-Event-ID`; too old: a `reload`.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **problems(401, 403, 404, 422),
    },
)
async def events(
    request: Request,
    actor: Asking,
    web: Web,
    thread_id: str | None = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """What happens in my conversations, or in one of them, as it happens."""
    thread = await web.service.rewind.thread(actor, thread_id) if thread_id is not None else None

    async def again() -> Actor | None:
        return await identify(request.headers, web.service.people)

    return web.stream.respond(actor, thread.id if thread else None, last_event_id, again)
