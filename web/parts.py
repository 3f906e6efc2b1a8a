"""What the routes work with: the service, and what the command line hands in beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

from fastapi import Depends, Request

from turnback.core.models import Actor, ThreadId
from turnback.web.events import EventStream
from turnback.web.guard import Site
from turnback.web.limits import RateLimit

if TYPE_CHECKING:
    from turnback.core.service import Turnback

Commands = Callable[[Actor, ThreadId, str], Awaitable[Mapping[str, Any]]]
"""Says words to the chat layer's dispatch: `{"text", "buttons", "error"}`."""


class SettingsPort(Protocol):
    """The settings as an admin sees and changes them; secrets never show their value."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Every setting: key, value, running, source, default, restart_needed, help."""
        ...

    async def change(self, actor: Actor, changes: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Change settings, all or none; answers the rows. InvalidRequest names the key and what is allowed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The composition that one app serves."""

    service: Turnback
    settings: SettingsPort
    commands: Commands
    site: Site
    stream: EventStream
    sign_ins: RateLimit


def _parts(request: Request) -> Parts:
    return cast("Parts", request.app.state.parts)


Web = Annotated[Parts, Depends(_parts)]
"""The parts, for a route's signature."""
