"""The people and chats of one simulated Telegram, and what happens to whole chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from platforms.core import Json, counter
from platforms.telegram.chats import Chat, Kind, change_seat, tell
from platforms.telegram.members import Seat, Standing
from platforms.telegram.people import User
from platforms.telegram.scene import Scene

FIRST_USER = 5_000_000_001
"""New accounts have ids above 2**32."""


class World:
    """Everybody and everything that the bot can meet."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self._next_user = counter(FIRST_USER)
        self._next_group = counter(4_000_001)
        self._next_supergroup = counter(1_002_000_000_001)

    def user(self, name: str, *, username: str = "", language: str = "en") -> User:
        """A new person, who has not yet written to the bot."""
        user_id = self._next_user()
        person = User(self.scene, user_id, name, username=username or name.lower(), language=language)
        self.users[user_id] = person
        self.chats[user_id] = person.private
        return person

    def group(self, title: str, people: Sequence[User], *, bot: bool = True) -> Chat:
        """A basic group; the first person owns it. `bot`: whether the bot is in it."""
        return self._room(-self._next_group(), "group", title, people, bot=bot)

    def supergroup(self, title: str, people: Sequence[User], *, forum: bool = False, bot: bool = True) -> Chat:
        return self._room(-self._next_supergroup(), "supergroup", title, people, forum=forum, bot=bot)

    def channel(self, title: str, people: Sequence[User]) -> Chat:
        """A channel that the bot may post in."""
        return self._room(-self._next_supergroup(), "channel", title, people).make_bot_admin()

    def promote(self, user: User, chat: Chat, *, anonymous: bool = False) -> None:
        """Make them an admin; the owner may become anonymous too."""
        seat = chat.seats[user.id]
        standing: Standing = "creator" if seat.standing == "creator" else "administrator"
        rights = frozenset({"can_manage_chat", "can_delete_messages"})
        change_seat(chat, _owner(chat), seat, standing, anonymous=anonymous, rights=rights)

    def demote(self, user: User, chat: Chat) -> None:
        change_seat(chat, _owner(chat), chat.seats[user.id], "member")

    def upgrade(
        self, group: Chat, *, told: Sequence[Literal["old", "new"]] = ("old", "new"), forum: bool = False
    ) -> Chat:
        """Make a basic group a supergroup, with another id. `told`: which service messages come, in which order."""
        new = self.supergroup(group.title, [], forum=forum, bot=False)
        new.seats = group.seats
        group.moved_to = new
        sender = {"from": next(iter(group.seats.values())).user}
        old_message = group.add(sender=sender, content={"migrate_to_chat_id": new.id})
        new_message = new.add(sender=sender, content={"migrate_from_chat_id": group.id})
        for which in told:
            tell(old_message if which == "old" else new_message)
        return new

    def _room(
        self, chat_id: int, kind: Kind, title: str, people: Sequence[User], *, forum: bool = False, bot: bool = True
    ) -> Chat:
        chat = self.chats[chat_id] = Chat(self.scene, chat_id, kind, title=title, forum=forum)
        for person in people:
            standing: Literal["member", "creator"] = "member" if chat.seats else "creator"
            chat.seats[person.id] = Seat(user=person.json(), standing=standing)
        chat.seats[self.scene.bot.id] = Seat(user=self.scene.bot.json(), standing="member" if bot else "left")
        return chat


def _owner(chat: Chat) -> Json:
    return next(iter(chat.seats.values())).user
