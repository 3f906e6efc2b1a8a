"""What the routes work with: the service, and what the command line hands in beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, cast

from fastapi import Depends, Request

from turnback.core.models import Actor, Surface, ThreadId
from turnback.web.events import EventStream
from turnback.web.guard import Site
from turnback.web.limits import RateLimit

if TYPE_CHECKING:
    from turnback.core.service import Turnback

Platforms = Callable[[], Sequence["PlatformStatus"]]
"""How each chat platform is now."""

Commands = Callable[[Actor, ThreadId, str], Awaitable[Mapping[str, Any]]]
"""Says words to the chat layer's dispatch: `{"text", "buttons", "error"}`."""


class SettingField(Protocol):
    """One setting as a form shows it; of a secret the values say only whether there is one.

    `kind`: switch, choice, number, size (bytes), list, text, prose or secret. `live`: it takes effect at once,
    else after a restart. `locked` says why it cannot be changed here; `variable` is the environment
    variable that sets it.
    """

    @property
    def key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def running(self) -> Any: ...
    @property
    def default(self) -> Any: ...
    @property
    def source(self) -> str: ...
    @property
    def choices(self) -> tuple[str, ...]: ...
    @property
    def allowed(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def live(self) -> bool: ...
    @property
    def restart_needed(self) -> bool: ...
    @property
    def locked(self) -> str | None: ...
    @property
    def variable(self) -> str: ...


class SettingsPort(Protocol):
    """The settings as an admin sees and changes them; secrets never show their value."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Every setting: key, value, running, source, default, restart_needed, help."""
        ...

    async def change(self, actor: Actor, changes: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Change settings, all or none; answers the rows. InvalidRequest names the key and what is allowed."""
        ...

    def fields(self) -> Sequence[SettingField]:
        """Every setting, as a form shows it."""
        ...

    def read(self, name: str, text: str) -> Any:
        """What a person who typed `text` for a setting means; text that means nothing stays as it is."""
        ...

    def problems(self, actor: Actor, changes: Mapping[str, Any]) -> Mapping[str, str]:
        """Why `change` would refuse these changes, by key; empty if it would not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """How a platform is now. `off`: it is not set up; `detail` says what is the trouble."""

    surface: Surface
    state: Literal["off", "starting", "running", "trouble"]
    detail: str = ""


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The composition that one app serves."""

    service: Turnback
    settings: SettingsPort
    commands: Commands
    site: Site
    stream: EventStream
    sign_ins: RateLimit
    clock: Callable[[], datetime] = utc_now
    platforms: Platforms = lambda: ()


def _parts(request: Request) -> Parts:
    return cast("Parts", request.app.state.parts)


Web = Annotated[Parts, Depends(_parts)]
"""The parts, for a route's signature."""
