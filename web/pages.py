"""The pages: plain, rendered here, without a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from turnback.core.errors import Refusal
from turnback.core.shapes import time_json
from turnback.core.text import well_formed
from turnback.web.auth import Asking
from turnback.web.parts import Web

HERE = Path(__file__).parent
STATIC = HERE / "static"

router = APIRouter(include_in_schema=False)

_templates = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["time"] = time_json


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A page from a template; whatever it shows is escaped."""
    return HTMLResponse(well_formed(_templates.get_template(template).render(**values)).encode(), status)


@router.get("/")
async def chats(actor: Asking, web: Web) -> Response:
    """My chats, newest first."""
    threads = await web.service.rewind.threads(actor)
    return page("chats.html", actor=actor, threads=threads)


@router.get("/chats/{thread_id}")
async def chat(actor: Asking, web: Web, thread_id: str) -> Response:
    """What was said in a chat."""
    try:
        thread = await web.service.rewind.thread(actor, thread_id)
        rows = await web.service.rewind.transcript(actor, thread_id)
    except Refusal as refusal:
        return _refused(refusal)
    return page("chat.html", thread=thread, rows=[row for row, _ in rows])


@router.get("/replay")
async def steps(actor: Asking, web: Web, thread: str | None = None) -> Response:
    """A chat's steps, turn by turn; without a chat, the list of chats."""
    if thread is None:
        return RedirectResponse("/", 303)
    try:
        listing = await web.service.rewind.list_steps(actor, thread)
    except Refusal as refusal:
        return _refused(refusal)
    return page("steps.html", listing=listing)


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The mark in the browser's tab."""
    return FileResponse(STATIC / "favicon.svg", media_type="image/svg+xml")


def _refused(refusal: Refusal) -> Response:
    """A refusal as a page: a person asked, not a program."""
    return page("refused.html", refusal.status, words=refusal.detail)
