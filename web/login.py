"""Signing in and out, in a browser.

A sign-in link works once. Platforms and mail programs fetch links to preview them, so that looking
(GET) only shows a page with a button; pressing it (POST, a plain form) uses the link up. A browser
that is signed in as somebody else is asked what it wants, with both names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from turnback.core.errors import RateLimited
from turnback.core.models import Account
from turnback.core.people import Link, LinkState
from turnback.web.auth import drop_session, session_of, set_session, signed_in
from turnback.web.openapi import problems
from turnback.web.pages.frame import render, theme_of
from turnback.web.parts import Parts, Web
from turnback.web.problems import RETRY_SECONDS

router = APIRouter(include_in_schema=False)

TRIES, TRY_SECONDS = 10, 60.0
"""Sign-ins that one address may try, in this many seconds."""

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("Chrom", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "a Mac"),
    ("CrOS", "a Chromebook"),
    ("Linux", "Linux"),
)
"""What in a User-Agent tells a browser and a system, the most telling first."""

_STATUS = {LinkState.GOOD: 200, LinkState.USED: 410, LinkState.EXPIRED: 410, LinkState.UNKNOWN: 404}

_WORDS = {
    LinkState.GOOD: "",
    LinkState.USED: "This sign-in link was used already. Each works once.",
    LinkState.EXPIRED: "This sign-in link has expired. They work for 10 minutes.",
    LinkState.UNKNOWN: "This is not a sign-in link of ours, or not the whole of it.",
}


@router.api_route("/login", methods=["GET", "HEAD"])
async def look(request: Request, web: Web, link: str | None = None) -> Response:
    """The sign-in page; changes nothing."""
    current = await signed_in(request.headers, web.service.people)
    if link is None:
        return _page(request, 200, state="ask", current=current, words="")
    return _offer(request, link, await web.service.people.peek_link(link), current)


@router.post("/login", responses=problems(403))
async def sign_in(request: Request, web: Web) -> Response:
    """Use a link up, and sign this browser in."""
    current = await signed_in(request.headers, web.service.people)
    if not web.sign_ins.allows(request.client.host if request.client else ""):
        if "text/html" not in request.headers.get("Accept", ""):  # every browser asks for it
            raise RateLimited
        answer = _page(request, RateLimited.status, state="wait", current=current, words=RateLimited().detail)
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
        return answer
    form = await _form(request)
    secret, choice = form.get("link", ""), form.get("choice", "")
    found = await web.service.people.peek_link(secret)
    if found.state is LinkState.GOOD and _is_somebody_else(found, current) and choice not in ("join", "switch"):
        return _offer(request, secret, found, current, status=409)
    if choice == "join" and current is not None and await web.service.people.use_link_for(secret, current):
        return RedirectResponse("/", 303)
    label = browser_of(request.headers.get("user-agent", ""))
    session = await web.service.people.use_link(secret, label) if choice != "join" else None
    if session is None:
        return _offer(request, secret, await web.service.people.peek_link(secret), current)
    await _end_session(request, web)
    answer = RedirectResponse("/", 303)
    set_session(answer, session, secure=_is_secure(request, web))
    return answer


@router.post("/logout")
async def sign_out(request: Request, web: Web) -> Response:
    """Sign this browser out."""
    await _end_session(request, web)
    answer = RedirectResponse("/login", 303)
    drop_session(answer, secure=_is_secure(request, web))
    return answer


def browser_of(user_agent: str) -> str:
    """Which browser that is, as a person would say it; nothing of the rest is kept."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if browser and system else browser or system


def _offer(request: Request, secret: str, link: Link, current: Account | None, status: int | None = None) -> Response:
    state = "choose" if link.state is LinkState.GOOD and _is_somebody_else(link, current) else link.state.value
    values: Mapping[str, Any] = {"link": secret, "account": link.account, "current": current}
    return _page(request, status or _STATUS[link.state], state=state, words=_WORDS[link.state], **values)


def _page(request: Request, status: int, **values: Any) -> Response:
    return render("login.html", status, theme=theme_of(request), **values)


def _is_somebody_else(link: Link, current: Account | None) -> bool:
    return current is not None and link.account is not None and link.account.id != current.id


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; a link in the address counts, too."""
    async with request.form(max_files=0, max_fields=10) as form:
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
    return {"link": request.query_params.get("link", ""), **fields}


async def _end_session(request: Request, web: Parts) -> None:
    session = session_of(request.headers)
    if session:
        await web.service.people.end_session(session)


def _is_secure(request: Request, web: Parts) -> bool:
    return web.site.secure or request.url.scheme == "https"
