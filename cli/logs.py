"""The log: JSON lines when nobody watches, readable lines in a terminal.

Never in it: what people and models write, tokens, links. Fields with such names are blanked, in case
one slips in; uvicorn's access log stays off, since addresses may hold the secret of a sign-in link.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import traceback
from typing import Any, TextIO

import structlog

FORBIDDEN = frozenset(
    {"text", "token", "secret", "link", "password", "api_key", "authorization", "cookie", "state", "messages", "args"}
)

LONGEST_CHAIN = 10
"""Errors told of that caused one another."""


def configure_logs(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Send structlog and the libraries' logging to `stream` (stderr), in one form."""
    stream = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        blank_secrets,
    ]
    if stream.isatty():
        # Not the rich form: it prints local variables, and those hold what people wrote.
        renderer: list[Any] = [structlog.dev.ConsoleRenderer(exception_formatter=_print_traceback)]
    else:
        renderer = [structlog.processors.ExceptionRenderer(_traceback), structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[*shared, *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for noisy in ("uvicorn.access", "httpx2", "httpx"):
        logging.getLogger(noisy).disabled = True


def _print_traceback(stream: TextIO, exc_info: Any) -> None:
    stream.write(f"\n{_traceback(exc_info)}")


def _traceback(exc_info: Any) -> str:
    """Where it broke, and on what kind of error; its own words only where they are the system's.

    Those of others may repeat what people wrote, or a provider's answer with a key in it.
    """
    error: BaseException | None = exc_info[1]
    parts: list[str] = []
    while error is not None and len(parts) < LONGEST_CHAIN:
        words = f": {error}" if isinstance(error, (OSError, sqlite3.Error)) else ""
        lines = traceback.format_tb(error.__traceback__)
        parts.append("".join([*lines, f"{type(error).__module__}.{type(error).__qualname__}{words}"]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\ncaused:\n\n".join(reversed(parts))


def blank_secrets(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Blank the values of fields that must not be logged."""
    for name in FORBIDDEN & event.keys():
        event[name] = "(not logged)"
    return event
