"""Where each view of Time Travel is: a link shows what its sender saw."""

from __future__ import annotations

from urllib.parse import urlencode

from turnback.core.models import StepId, ThreadId
from turnback.web.timetravel.layout import Choice


def steps_url(thread_id: ThreadId, choice: Choice = Choice(), step: StepId | None = None, **more: str | int) -> str:
    """A conversation's steps, or one of them opened."""
    named = {"thread": thread_id, **choice.query(), **more}
    return "/replay?" + urlencode({**named, "step": step} if step else named)


def clear_url(thread_id: ThreadId) -> str:
    """The question before the steps are deleted."""
    return "/replay/clear?" + urlencode({"thread": thread_id})


def compare_url(thread_id: ThreadId, a: str, b: str = "") -> str:
    """Two steps side by side; without `b`, a step and now."""
    return "/replay/compare?" + urlencode({"thread": thread_id, "a": a, **({"b": b} if b else {})})
