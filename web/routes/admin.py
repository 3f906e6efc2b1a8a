"""What only admins may see and change: settings, the audit trail, metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from turnback.core import shapes
from turnback.web import requests, schemas
from turnback.web.answers import Answer
from turnback.web.auth import SECURITY, Asking, AskingAdmin
from turnback.web.openapi import problems
from turnback.web.parts import Web
from turnback.web.trail import Excerpt

router = APIRouter(tags=["admin"], dependencies=SECURITY)


@router.get("/api/settings", response_model=schemas.Settings, responses=problems(401, 403, 422))
async def list_settings(_admin: AskingAdmin, web: Web) -> Answer:
    """Every setting: its value, the running value, where it comes from, whether a restart is needed."""
    return Answer({"settings": list(web.settings.rows())})


@router.patch("/api/settings", response_model=schemas.Settings, responses=problems(401, 403, 413, 422))
async def change_settings(actor: Asking, web: Web, body: requests.Changes) -> Answer:
    """Change settings by key, all of them or none; who may not is refused, which is in the audit trail, too."""
    return Answer({"settings": list(await web.settings.change(actor, body.root))})


@router.post("/api/cleanup", response_model=schemas.CleanedUp, responses=problems(401, 403, 413, 422, 503))
async def clean_up(_admin: AskingAdmin, web: Web, body: requests.CleanUp) -> Answer:
    """Delete steps older than the retention now; `dry_run` only counts them."""
    maintenance = web.service.maintenance
    done = await (maintenance.count() if body.dry_run else maintenance.run())
    return Answer(
        {
            "before": shapes.time_json(done.before),
            "steps": done.steps,
            "threads": done.threads,
            "compaction": done.compaction,
            "freed_bytes": done.freed_bytes,
        }
    )


@router.get("/api/audit", response_model=schemas.AuditTrail, responses=problems(401, 403, 422))
async def audit(admin: AskingAdmin, web: Web, asked: Annotated[Excerpt, Query()]) -> Answer:
    """Who did what, newest first."""
    trail = await web.service.rewind.audit_trail(admin, asked.thread_id, asked.limit, wanted=asked.as_filter())
    return Answer({"entries": [shapes.audit_json(entry) for entry in trail]})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(401, 403, 422),
    },
)
async def metrics(_admin: AskingAdmin, web: Web) -> Response:
    """Metrics for Prometheus."""
    await web.service.maintenance.look_at_store()  # counts the steps of this moment
    return Response(generate_latest(web.service.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
