"""The people and channels of one simulated workspace."""

from __future__ import annotations

from collections.abc import Sequence

from platforms.core import Json, counter
from platforms.slack.channels import Channel, Kind
from platforms.slack.people import User, Webhook
from platforms.slack.scene import Scene


class World:
    """Everybody and everything that the app can meet."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self._next_user, self._next_channel = counter(1), counter(1)

    def user(self, name: str, *, admin: bool = False, owner: bool = False, bot: bool = False) -> User:
        """A new person of the workspace, or another app's bot."""
        user_id = f"U0USER{self._next_user():04d}"
        handle = name.lower().replace(" ", ".")
        private = Channel(self.scene, f"D{user_id[1:]}", "im")
        private.members = [user_id]
        person = User(self.scene, user_id, name, handle=handle, private=private, bot=bot)
        person.is_admin, person.is_owner = admin or owner, owner
        self.users[user_id], self.channels[private.id] = person, private
        self.scene.names[user_id] = handle
        return person

    def webhook(self, name: str) -> Webhook:
        """An incoming webhook, which writes without being anybody."""
        return Webhook(self.scene, self.scene.new_id("B"), name)

    def channel(self, name: str, people: Sequence[User], *, private: bool = False, bot: bool = True) -> Channel:
        """A channel that the first person made. `bot`: whether ours is in it."""
        return self._room(name, people, "group" if private else "channel", bot=bot)

    def group_direct(self, people: Sequence[User]) -> Channel:
        """A direct chat of several people and the bot."""
        return self._room("mpdm-" + "--".join(person.handle for person in people), people, "mpim", bot=True)

    def direct(self, user_id: str) -> Channel | None:
        person = self.users.get(user_id)
        return person.private if person else None

    def view(self, view_id: str) -> tuple[User, int] | None:
        """Who has that modal open, and how deep."""
        for person in self.users.values():
            for depth, view in enumerate(person.views):
                if view["id"] == view_id:
                    return person, depth
        return None

    def user_json(self, user_id: str) -> Json | None:
        if user_id == self.scene.app.user_id:
            return self.scene.app.user_json()
        person = self.users.get(user_id)
        return person.json() if person else None

    def _room(self, name: str, people: Sequence[User], kind: Kind, *, bot: bool) -> Channel:
        channel_id = f"C0ROOM{self._next_channel():04d}"
        channel = Channel(self.scene, channel_id, kind, name=name, creator=people[0].id if people else "")
        channel.members = [person.id for person in people]
        channel.bot_in = bot
        self.channels[channel_id] = channel
        self.scene.names[channel_id] = name
        return channel
