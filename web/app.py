"""The web app: every route over one service, behind the guard and the sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from turnback import __version__
from turnback.web import login, pages
from turnback.web.auth import Authentication
from turnback.web.events import EventStream
from turnback.web.guard import Guard, Site
from turnback.web.limits import RateLimit
from turnback.web.parts import Commands, Parts, SettingsPort
from turnback.web.problems import Boundary, handle
from turnback.web.routes import admin, events, health, replay, threads

if TYPE_CHECKING:
    from turnback.core.service import Turnback

ROUTERS = (replay.router, threads.router, events.router, admin.router, health.router, login.router, pages.router)
"""Every route but static files and the OpenAPI document."""


def create_app(
    service: Turnback,
    *,
    settings: SettingsPort,
    commands: Commands,
    site: Site | None = None,
    sign_ins: RateLimit | None = None,
) -> FastAPI:
    """The app over an open service, which it does not close. `site` says under which names we are reached."""
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
    )
    handle(app, [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)])
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=pages.STATIC), name="static")
    return app
