"""Whether the service lives, and whether it can work."""

from __future__ import annotations

import sqlite3

from fastapi import APIRouter

from turnback.core.errors import StoreUnavailable
from turnback.web import schemas
from turnback.web.answers import Answer
from turnback.web.openapi import problems
from turnback.web.parts import Parts, Web

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=schemas.Health, responses=problems(403))
async def healthz() -> Answer:
    """The process answers."""
    return Answer({"status": "ok"})


@router.get(
    "/readyz",
    response_model=schemas.Health,
    responses={**problems(403), 503: {"model": schemas.Health, "description": "Conversations cannot be read."}},
)
async def readyz(web: Web) -> Answer:
    """Conversations can be read; `degraded` while steps cannot, since people can talk without."""
    status = await _status(web)
    return Answer({"status": status}, 503 if status == "unavailable" else 200)


async def _status(web: Parts) -> str:
    try:
        await web.service.threads.note("ready")
    except (StoreUnavailable, sqlite3.Error, OSError):
        return "unavailable"
    try:
        await web.service.steps.totals()
    except StoreUnavailable:
        return "degraded"
    return "ok"
