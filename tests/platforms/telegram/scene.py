"""What chats and people share: the bot's account, the clock, the files, the queue of updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platforms.core import Clock, Json, Signal, counter
from platforms.telegram.commands import Menus
from platforms.telegram.updates import Updates

if TYPE_CHECKING:
    from platforms.telegram.people import Press

PATH_SECONDS = 3600
"""The Bot API promises a file's path for an hour."""


@dataclass(kw_only=True)
class BotAccount:
    """The bot as Telegram knows it."""

    token: str
    username: str
    name: str = "Turnback"
    privacy: bool = True
    """In groups it is told only of commands, replies to it and service messages."""

    @property
    def id(self) -> int:
        return int(self.token.partition(":")[0])

    def json(self) -> Json:
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file on Telegram's servers."""

    number: int
    name: str
    data: bytes = field(repr=False)
    mime: str

    @property
    def id(self) -> str:
        return f"BQACAgIAAxkBAAI{self.number:08d}"

    def json(self) -> Json:
        return {"file_id": self.id, "file_unique_id": f"AgAD{self.number:08d}", "file_size": len(self.data)}


class Files:
    """Everything that was ever sent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_id: dict[str, StoredFile] = {}
        self._paths: dict[str, tuple[StoredFile, float]] = {}

    def store(self, name: str, data: bytes, mime: str = "application/octet-stream") -> StoredFile:
        stored = StoredFile(number=len(self._by_id) + 1, name=name, data=data, mime=mime)
        self._by_id[stored.id] = stored
        return stored

    def find(self, file_id: str) -> StoredFile | None:
        return self._by_id.get(file_id)

    def path_of(self, stored: StoredFile) -> str:
        """A path to fetch it by, good for an hour."""
        path = f"documents/file_{stored.number}"
        self._paths[path] = stored, self._clock.now() + PATH_SECONDS
        return path

    def at(self, path: str) -> StoredFile | None:
        stored, until = self._paths.get(path, (None, 0.0))
        return stored if self._clock.now() < until else None

    def document(self, name: str, data: bytes, mime: str) -> Json:
        return {"document": {**self.store(name, data, mime).json(), "file_name": name, "mime_type": mime}}

    def photo(self, data: bytes) -> Json:
        """A photo comes in sizes, the largest last."""
        small, full = self.store("thumb.jpg", data[:16], "image/jpeg"), self.store("photo.jpg", data, "image/jpeg")
        sizes = [{**small.json(), "width": 90, "height": 60}, {**full.json(), "width": 1280, "height": 853}]
        return {"photo": sizes}


class Scene:
    """One simulated Telegram, as far as neither chats nor people are concerned."""

    def __init__(self, clock: Clock, signal: Signal, bot: BotAccount, updates: Updates) -> None:
        self.clock, self.signal, self.bot, self.updates = clock, signal, bot, updates
        self.files = Files(clock)
        self.menus = Menus()
        self.presses: dict[str, Press] = {}
        self.next_press_id = counter(7_000_000_001)
        self.next_message_id = counter(1)
        """Of direct chats and basic groups; a supergroup counts for itself."""
        self.changes = 0
        """How many visible changes there have been: a mark that `seen` looks back to."""

    def change(self) -> int:
        """The number of a visible change that happens now."""
        self.changes += 1
        return self.changes
