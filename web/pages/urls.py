"""Where things are on the page."""

from __future__ import annotations

from urllib.parse import urlencode

from turnback.core.models import StepId, ThreadId


def chat_url(thread_id: ThreadId | str) -> str:
    """A conversation."""
    return f"/chats/{thread_id}"


def replay_url(thread_id: ThreadId | str, step_id: StepId | str | None = None) -> str:
    """A conversation's steps in Time Travel, or one of them opened."""
    return "/replay?" + urlencode({"thread": thread_id, **({"step": step_id} if step_id else {})})
