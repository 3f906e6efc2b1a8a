"""What channels and people share: the installed app, the clock, names, files, triggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platforms.core import Clock, Json, Signal, counter
from platforms.slack.manifest import Manifest

if TYPE_CHECKING:
    from platforms.slack.channels import Channel, Message
    from platforms.slack.deliveries import Deliveries
    from platforms.slack.people import User

TRIGGER_SECONDS = 3.0


@dataclass(kw_only=True)
class App:
    """The app as the workspace knows it."""

    manifest: Manifest
    team: str = "T0TURNBACK"
    team_name: str = "Turnback Testers"
    domain: str = "testers"
    id: str = "A0TURNBACK"
    bot_id: str = "B0TURNBACK"
    user_id: str = "U0TURNBACK"
    bot_token: str = "xoxb-7000000001-7000000002-simulated"
    app_token: str = "xapp-1-A0TURNBACK-7000000003-simulated"
    signing_secret: str = "8f742231b10e8888abcd99baac85cbae"
    revoked: str = ""
    """The error that its bot token is refused with."""
    app_token_revoked: bool = False

    @property
    def installed(self) -> bool:
        """Whether the workspace still has it; a wrong token alone does not remove it."""
        return self.revoked not in ("account_inactive", "token_revoked")

    def author(self) -> Json:
        """How its messages name it."""
        return {"user": self.user_id, "bot_id": self.bot_id, "app_id": self.id, "team": self.team}

    def user_json(self) -> Json:
        name = self.manifest.username
        profile = {"real_name": name, "display_name": name, "bot_id": self.bot_id, "api_app_id": self.id}
        return {
            "id": self.user_id,
            "team_id": self.team,
            "name": name,
            "is_bot": True,
            "deleted": False,
            "profile": profile,
        }


@dataclass(kw_only=True)
class StoredFile:
    """A file on Slack's servers; `data` is None until it was uploaded."""

    id: str
    name: str
    size: int
    user: str
    mime: str = "application/octet-stream"
    data: bytes | None = field(default=None, repr=False)
    shared: bool = False
    shares: dict[str, list[Json]] = field(default_factory=dict)
    """Where it can be seen: by channel, the ts of its messages."""


@dataclass(kw_only=True)
class Trigger:
    """Somebody did something, in answer to which a modal may be opened."""

    user: User
    at: float
    used: bool = False


@dataclass(kw_only=True)
class ResponseUrl:
    """A way to answer one command or click."""

    at: float
    user_id: str
    channel: Channel
    message: Message | None
    """What was clicked."""
    uses: int = 0


class Scene:
    """One workspace, as far as neither channels nor people are concerned."""

    def __init__(self, clock: Clock, signal: Signal, app: App, url: Callable[[str, str], str]) -> None:
        """`url(host, path)` is what Slack gives out: its own host, or loopback."""
        self.clock, self.signal, self.app, self.url = clock, signal, app, url
        self.deliveries: Deliveries
        self.names: dict[str, str] = {app.user_id: app.manifest.username}
        """Of people and channels, by id."""
        self.files: dict[str, StoredFile] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.notes: list[str] = []
        """Broken rules that belong to no call of the Web API."""
        self.changes = 0
        self._next_ts, self._next_file, self._next_id = counter(100), counter(1), counter(1)

    def change(self) -> int:
        """Count something that happened, so that all of it is in order."""
        self.changes += 1
        return self.changes

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)
        self.signal.touch()

    def ts(self) -> str:
        """A new message's id in its channel."""
        return f"{int(self.clock.now())}.{self._next_ts():06d}"

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{self._next_id():09d}"

    def store(self, name: str, size: int, user: str, *, mime: str, data: bytes | None = None) -> StoredFile:
        file_id = f"F0FILE{self._next_file():04d}"
        stored = StoredFile(id=file_id, name=name, size=size, user=user, mime=mime, data=data)
        self.files[file_id] = stored
        return stored

    def file_json(self, stored: StoredFile) -> Json:
        path = f"/files-pri/{self.app.team}-{stored.id}/{stored.name}"
        return {
            "id": stored.id,
            "name": stored.name,
            "title": stored.name,
            "mimetype": stored.mime,
            "size": stored.size,
            "user": stored.user,
            "mode": "hosted",
            "url_private": self.url("files", path),
            "url_private_download": self.url("files", path.replace(stored.id, f"{stored.id}/download", 1)),
        }

    def trigger(self, user: User) -> str:
        trigger_id = f"{self._next_id()}.7000000001.{user.id.lower()}"
        self.triggers[trigger_id] = Trigger(user=user, at=self.clock.now())
        return trigger_id
