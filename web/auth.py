"""Who asks: a token for programs, a session cookie for browsers, and nothing else.

Every path needs one of them unless it is listed here, so that a new route cannot be forgotten.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnback.core.errors import Forbidden, Unauthorized
from turnback.core.models import Account, Actor, Surface
from turnback.core.people import SESSION_DAYS, People
from turnback.web.problems import refuse

COOKIE = "turnback_session"

SIGNED_OUT = (
    "You are signed out here. Sign in again in another tab (/web in a private chat gives a link), then try again."
)

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login", "/favicon.ico"})
"""Paths that anybody may ask for."""

OPEN_PREFIXES = ("/static/", "/hooks/")
"""What anybody may ask for below these; hooks check secrets of their own."""

_PROGRAMS = ("/api/", "/metrics")
"""Where a program is told that it must sign in; a browser elsewhere is led to the sign-in page."""


def is_open(path: str) -> bool:
    """Whether a path needs no sign-in."""
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIXES)


class Authentication:
    """Finds out who asks, and turns away who may not."""

    def __init__(self, app: ASGIApp, people: People) -> None:
        self._app = app
        self._people = people

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the actor into the request's state, then run the app."""
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        actor = await identify(Headers(scope=scope), self._people)
        if actor is None:
            await _turn_away(scope)(scope, receive, send)
            return
        scope.setdefault("state", {})["actor"] = actor
        await self._app(scope, receive, send)


async def identify(headers: Headers, people: People) -> Actor | None:
    """Who sent these headers. A token that is given counts, and fails, before any cookie."""
    given = headers.get("authorization")
    if given is not None:
        scheme, _, token = given.partition(" ")
        account = await people.authenticate(token.strip(), "token") if scheme.lower() == "bearer" else None
        return _actor(account, Surface.API)
    return _actor(await signed_in(headers, people), Surface.WEB)


async def signed_in(headers: Headers, people: People) -> Account | None:
    """The account that this browser is signed in as."""
    session = session_of(headers)
    return await people.authenticate(session, "session") if session else None


def session_of(headers: Headers) -> str | None:
    """The session cookie's value."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie else None


def set_session(response: Response, session: str, *, secure: bool) -> None:
    """Sign this browser in."""
    response.set_cookie(
        COOKIE, session, max_age=SESSION_DAYS * 86400, path="/", secure=secure, httponly=True, samesite="lax"
    )


def drop_session(response: Response, *, secure: bool) -> None:
    """Sign this browser out."""
    response.delete_cookie(COOKIE, path="/", secure=secure, httponly=True, samesite="lax")


def _actor(account: Account | None, surface: Surface) -> Actor | None:
    if account is None:
        return None
    return Actor(account=account.id, surface=surface, admin=account.admin, name=account.name)


def _turn_away(scope: Scope) -> ASGIApp:
    if "hx-request" in Headers(scope=scope):  # a part of a page must not become the sign-in page
        if scope["method"] == "POST":  # nor may what was written be lost with the page
            return refuse(Unauthorized(SIGNED_OUT))
        return Response(status_code=Unauthorized.status, headers={"HX-Redirect": "/login"})
    if scope["method"] == "GET" and not scope["path"].startswith(_PROGRAMS):
        return RedirectResponse("/login", 303)
    return refuse(Unauthorized())


def _asking(request: Request) -> Actor:
    return cast("Actor", request.state.actor)


def _asking_admin(actor: Annotated[Actor, Depends(_asking)]) -> Actor:
    if not actor.admin:
        raise Forbidden("Only an admin may do that.")
    return actor


Asking = Annotated[Actor, Depends(_asking)]
"""The actor of a request, for a route's signature."""

AskingAdmin = Annotated[Actor, Depends(_asking_admin)]
"""The same where only an admin may ask."""

SECURITY = [
    Security(HTTPBearer(auto_error=False, description="A token of `turnback token`.")),
    Security(APIKeyCookie(name=COOKIE, auto_error=False, description="Set by signing in on the page.")),
]
"""What OpenAPI tells of this; the check itself is `Authentication`."""
