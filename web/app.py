"""The web app: every route over one service, behind the guard and the sign-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp

from turnback import __version__
from turnback.web import login
from turnback.web.auth import Authentication
from turnback.web.events import EventStream
from turnback.web.guard import Guard, Site
from turnback.web.limits import RateLimit
from turnback.web.pages import (
    audit,
    chats,
    cleaning,
    comparison,
    conversation,
    members,
    sidebar,
    timetravel,
    you,
)
from turnback.web.pages import (
    settings as settings_page,
)
from turnback.web.pages.assets import Assets
from turnback.web.pages.frame import not_found
from turnback.web.parts import Commands, Parts, Platforms, SettingsPort, utc_now
from turnback.web.problems import Boundary, handle
from turnback.web.routes import admin, events, health, replay, threads

if TYPE_CHECKING:
    from turnback.core.service import Turnback

ROUTERS = (
    replay.router,
    threads.router,
    events.router,
    admin.router,
    health.router,
    login.router,
    chats.router,
    sidebar.router,
    conversation.router,
    timetravel.router,
    comparison.router,
    you.router,
    settings_page.router,
    cleaning.router,
    members.router,
    audit.router,
)
"""Every route but static files and the OpenAPI document."""


def create_app(
    service: Turnback,
    *,
    settings: SettingsPort,
    commands: Commands,
    site: Site | None = None,
    sign_ins: RateLimit | None = None,
    clock: Callable[[], datetime] = utc_now,
    hooks: Mapping[str, ASGIApp] | None = None,
    platforms: Platforms = lambda: (),
) -> FastAPI:
    """The app over an open service, which it does not close. `site` says under which names we are reached,
    `clock` from when pages reckon how long ago something was. `hooks` are handlers by their paths (below
    /hooks/), which check secrets of their own."""
    site = site or Site()
    app = FastAPI(
        title="Turnback",
        version=__version__,
        description="Time travel for chat agents. Errors are RFC 9457 problem documents with a `code`.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(Boundary),
            Middleware(Guard, site=site),
            Middleware(Authentication, people=service.people),
        ],
    )
    app.state.parts = Parts(
        service=service,
        settings=settings,
        commands=commands,
        site=site,
        stream=EventStream(service.events),
        sign_ins=sign_ins or RateLimit(login.TRIES, login.TRY_SECONDS),
        clock=clock,
        platforms=platforms,
    )
    handle(app, [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)], not_found)
    for router in ROUTERS:
        app.include_router(router)
    for path, hook in (hooks or {}).items():
        app.router.routes.append(Route(path, hook, include_in_schema=False))
    app.mount("/static", Assets(), name="static")
    return app
