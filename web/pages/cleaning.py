"""A clean-up now, for admins: what it would delete, and the run while it goes on."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from turnback.core.errors import StoreUnavailable
from turnback.web.pages.frame import PageAskedByAdmin, page_router
from turnback.web.pages.storage import look_at_cleanup

router = page_router()

PATIENCE = 1.5
"""Seconds that a run may take before the page shows how far it is."""


@router.get("/settings/cleanup")
async def show(page: PageAskedByAdmin) -> Response:
    """What a clean-up would delete, or how far the one under way is."""
    return page.page("cleanup.html", here="settings", at="settings", cleanup=await look_at_cleanup(page))


@router.post("/settings/cleanup")
async def run(page: PageAskedByAdmin) -> Response:
    """Clean up. What takes long goes on while the page shows it."""
    task = page.web.service.maintenance.run_now()
    await asyncio.wait([task], timeout=PATIENCE)
    if task.done() and isinstance(error := task.exception(), StoreUnavailable):
        raise error
    return page.redirect("/settings/cleanup")
