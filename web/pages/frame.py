"""What every page shares: templates, who is signed in, the policy that the browser enforces, refusals as pages.

    router = page_router()

    @router.get("/things/{thing}")
    async def show(ask: PageAsked, thing: str) -> Response:
        return ask.page("thing.html", here="chats", thing=await ask.web.service...)

A template extends `base.html` (blocks `title`, `sidebar`, `main`, `aside`), or is a fragment for htmx that
extends nothing. The policy allows no inline script or style: behaviour comes from modules of
`static/` (an element with `data-module="chat"` is handed to `start` of `chat.js`), widths of meters from
`<progress>` and the attributes of SVG.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from turnback.core.errors import Forbidden, InvalidRequest, NotFound, Refusal
from turnback.core.models import Actor
from turnback.core.text import well_formed
from turnback.web.pages.assets import asset_url
from turnback.web.pages.filters import FILTERS
from turnback.web.pages.markup import answer_html, cut_long
from turnback.web.pages.talk import args_text
from turnback.web.pages.urls import chat_url, replay_url
from turnback.web.parts import Parts
from turnback.web.problems import describe

TEMPLATES = Path(__file__).parent.parent / "templates"

THEME_COOKIE = "turnback_theme"
THEMES = ("light", "dark")
"""What a person may choose; without a choice the system decides."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(FILTERS, answer=answer_html, cut_long=cut_long, args_text=args_text)
_templates.globals.update(asset=asset_url, chat_url=chat_url, replay_url=replay_url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Who asks for a page, of which app, and how it is answered."""

    request: Request
    web: Parts
    actor: Actor
    stream_at: str
    """The newest event before anything was read: what is newer may be missing from the page."""

    @property
    def now(self) -> datetime:
        """The time that relative times are reckoned from."""
        return self.web.clock()

    @property
    def wants_fragment(self) -> bool:
        """Whether htmx asks for a part of a page, not for a whole one."""
        headers = self.request.headers
        return "hx-request" in headers and "hx-boosted" not in headers and "hx-history-restore-request" not in headers

    def page(self, template: str, status: int = 200, *, here: str = "", **values: Any) -> Response:
        """A page, or a fragment. `here` is the word of its place in the main navigation."""
        shared = {
            "actor": self.actor,
            "alerts": self.web.service.alerts.active if self.actor.admin else (),
            "here": here,
            "now": self.now,
            "stream_at": self.stream_at,
            "theme": theme_of(self.request),
        }
        return render(template, status, **{**shared, **values})

    def refused(self, refusal: Refusal) -> Response:
        """A refusal in place: a person asked, not a program."""
        template = "refusal.html" if self.wants_fragment else "refused.html"
        return self.page(template, refusal.status, refusal=refusal)

    def redirect(self, path: str) -> Response:
        """Go to a page of ours, after a POST. Only paths: nothing can lead elsewhere."""
        assert path.startswith("/") and not path.startswith(("//", "/\\"))  # noqa: PT018
        if self.wants_fragment:
            return Response(status_code=204, headers={"HX-Location": path})
        return RedirectResponse(path, 303)

    async def form(self) -> Mapping[str, str]:
        """The fields of a form, the last of each name; files are refused."""
        async with self.request.form(max_files=0, max_fields=100) as form:
            return {key: well_formed(value) for key, value in form.items() if isinstance(value, str)}


def _asked(request: Request) -> Page:
    web = cast("Parts", request.app.state.parts)
    return Page(request=request, web=web, actor=cast("Actor", request.state.actor), stream_at=web.stream.last_id)


def _asked_by_admin(page: Annotated[Page, Depends(_asked)]) -> Page:
    if not page.actor.admin:
        raise Forbidden("Only an admin may see this page. Ask one of yours.")
    return page


PageAsked = Annotated[Page, Depends(_asked)]
"""For a route's signature: whoever is signed in."""

PageAskedByAdmin = Annotated[Page, Depends(_asked_by_admin)]
"""The same for admins; others are told so."""


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """The handler, with refusals answered in words."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except Refusal as refusal:
                return _asked(request).refused(refusal)
            except RequestValidationError as error:
                return _asked(request).refused(InvalidRequest(describe(error.errors())))

        return answer


def page_router() -> APIRouter:
    """A router of pages, which are no part of the API."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)


def render(template: str, status: int = 200, **values: Any) -> Response:
    """A template filled; whatever it shows is escaped."""
    text = _templates.get_template(template).render(**values)
    return HTMLResponse(well_formed(text).encode(), status, {"Content-Security-Policy": _POLICY})


def theme_of(request: Request) -> str | None:
    """The theme that this browser's person chose."""
    chosen = request.cookies.get(THEME_COOKIE)
    return chosen if chosen in THEMES else None


def not_found(request: Request, error: HTTPException) -> Response | None:
    """A page for an address that there is not, where somebody who is signed in asks for one."""
    wants_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
    if not wants_page or error.status_code != NotFound.status or not hasattr(request.state, "actor"):
        return None
    if request.url.path.startswith("/api/"):
        return None
    return _asked(request).refused(NotFound("There is no such page."))
