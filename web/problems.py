"""Every error as an RFC 9457 problem document, and the place where refusals become answers.

A refusal keeps its own status and code. What the framework finds wrong with a request is
`invalid_request`. Anything else that is raised is a bug: logged under a correlation id, which is all
that the client learns of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnback.core.errors import InvalidRequest, NotFound, RateLimited, Refusal, Unauthorized
from turnback.core.shapes import problem_json
from turnback.core.text import well_formed
from turnback.web.answers import Answer

MEDIA_TYPE = "application/problem+json"

RETRY_SECONDS = 60
"""What a rate-limited client is told to wait."""

LONGEST_DETAIL = 500
"""Characters of a detail: it may quote what was sent."""

_log = structlog.get_logger(__name__)


class Problem(Answer):
    """A problem document."""

    media_type = MEDIA_TYPE


def refuse(refusal: Refusal) -> Problem:
    """The answer to what cannot be done now."""
    headers = {}
    if isinstance(refusal, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(refusal, RateLimited):
        headers["Retry-After"] = str(RETRY_SECONDS)
    return Problem(problem_json(refusal), refusal.status, headers)


def plain(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Problem:
    """A problem of HTTP itself, which no chat knows."""
    document = {
        "type": f"urn:turnback:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    return Problem(document, status, dict(headers or {}))


def handle(
    app: FastAPI, routes: Sequence[APIRoute], page: Callable[[Request, HTTPException], Response | None] | None = None
) -> None:
    """Have every error of `app`, which has these `routes`, answered as a problem document.

    `page` may answer an error of HTTP's own where a person asked.
    """

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return _not_allowed(request.url.path, routes)
        return (page and page(request, error)) or _http(error)

    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, http)


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with a request, in one line that names each field."""
    return well_formed("; ".join(_describe(error) for error in errors))[:LONGEST_DETAIL]


class Boundary:
    """The outermost layer: a bug is logged, and answered in one plain line."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the reason
            number = uuid4().hex[:12]
            _log.exception("bug in a request", method=scope["method"], path=scope["path"], correlation_id=number)
            if not started:
                detail = f"Something went wrong on our side. The log has it under {number}."
                await plain(500, "internal_error", detail)(scope, receive, send)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refuse(error)


async def _not_valid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refuse(InvalidRequest(describe(error.errors())))


def _http(error: HTTPException) -> Response:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return refuse(NotFound())
    if error.status_code == HTTPStatus.BAD_REQUEST:
        # The framework's word for a body that it cannot read.
        return refuse(InvalidRequest("body: this cannot be read as JSON"))
    return plain(error.status_code, "invalid_request", str(error.detail), error.headers)


def _not_allowed(path: str, routes: Sequence[APIRoute]) -> Response:
    """The framework names the methods of the first route only that has this path."""
    methods = {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}
    headers = {"Allow": ", ".join(sorted(methods))}
    return plain(405, "method_not_allowed", "That cannot be done to this address.", headers)


def _describe(error: Mapping[str, Any]) -> str:
    kind, where = error["type"], [str(part) for part in error["loc"]]
    if kind == "json_invalid":
        return f"body: this cannot be read as JSON ({error.get('ctx', {}).get('error', '')})"
    if where == ["body"] and kind in ("model_attributes_type", "dict_type"):
        return "body: send a JSON object, with Content-Type: application/json"
    field = ".".join(where[1:] or where)
    if kind == "string_pattern_mismatch":
        return f"{field}: this must not be blank"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{field}: {message[:1].lower()}{message[1:]}"
