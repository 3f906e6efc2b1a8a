"""Guilds: their members, roles and channels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platforms.core import Json
from platforms.discord import permissions
from platforms.discord.channels import Channel, Kind
from platforms.discord.gateway import GUILDS, MEMBERS
from platforms.discord.scene import Account, Scene

if TYPE_CHECKING:
    from platforms.discord.people import User

JOINED_AT = "2026-01-01T00:00:00+00:00"

_GUILD: Json = {
    **{name: [] for name in ("emojis", "stickers", "features", "voice_states", "presences", "stage_instances")},
    **{name: [] for name in ("guild_scheduled_events", "soundboard_sounds")},
    **dict.fromkeys(("verification_level", "mfa_level", "default_message_notifications", "nsfw_level"), 0),
    **dict.fromkeys(("explicit_content_filter", "premium_tier", "system_channel_flags"), 0),
    **dict.fromkeys(("icon", "splash", "banner", "description", "vanity_url_code", "application_id"), None),
    **dict.fromkeys(("afk_channel_id", "system_channel_id", "rules_channel_id", "public_updates_channel_id"), None),
    "afk_timeout": 300,
    "preferred_locale": "en-US",
    "joined_at": JOINED_AT,
}


@dataclass(eq=False, kw_only=True)
class Role:
    """A role; the one with the guild's own id everybody has."""

    id: str
    name: str
    permissions: int
    position: int = 0
    managed: bool = False
    bot_id: str | None = None
    """The bot that the platform made it for."""

    @property
    def mention(self) -> str:
        return f"<@&{self.id}>"

    def json(self) -> Json:
        return {
            "id": self.id,
            "name": self.name,
            "permissions": str(self.permissions),
            "position": self.position,
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "managed": self.managed,
            "mentionable": False,
            "flags": 0,
            **({"tags": {"bot_id": self.bot_id}} if self.bot_id else {}),
        }


@dataclass(eq=False, kw_only=True)
class Member:
    """Somebody's place in a guild."""

    account: Account
    roles: list[Role] = field(default_factory=list)
    nick: str | None = None

    def json(self, *, with_user: bool = True) -> Json:
        body: Json = {"roles": [role.id for role in self.roles], "nick": self.nick, "joined_at": JOINED_AT}
        body |= dict.fromkeys(("avatar", "banner", "premium_since", "communication_disabled_until"), None)
        body |= {"deaf": False, "mute": False, "pending": False, "flags": 0}
        return body | ({"user": self.account.json()} if with_user else {})


class Guild:
    """A server, as its people call it."""

    def __init__(self, scene: Scene, name: str, owner: Account, members: Iterable[Account]) -> None:
        self.scene, self.name, self.owner, self.id = scene, name, owner, scene.snowflake()
        self.everyone = Role(id=self.id, name="@everyone", permissions=permissions.bits(*permissions.EVERYONE))
        self.bot_role = Role(
            id=scene.snowflake(), name=scene.bot.name, permissions=0, position=1, managed=True, bot_id=scene.bot.id
        )
        self.roles = [self.everyone, self.bot_role]
        self.members = {account.id: Member(account=account) for account in (owner, *members)}
        self.channels: list[Channel] = []
        self.commands: list[Json] = []
        self._seat_bot()
        scene.guilds[self.id] = self

    def __repr__(self) -> str:
        return f"<guild {self.name}>"

    @property
    def has_bot(self) -> bool:
        return self.scene.bot.id in self.members

    def channel(self, name: str) -> Channel:
        """A text channel that everybody sees."""
        return self._add(Channel(self.scene, Kind.TEXT, name, guild=self))

    def forum(self, name: str) -> Channel:
        """A channel that holds posts, which are threads."""
        return self._add(Channel(self.scene, Kind.FORUM, name, guild=self))

    def role(self, name: str, *allowed: str) -> Role:
        """A new role with permissions of `permissions.BITS`."""
        role = Role(id=self.scene.snowflake(), name=name, permissions=permissions.bits(*allowed))
        role.position = len(self.roles)
        self.roles.append(role)
        self.scene.gateway.tell("GUILD_ROLE_CREATE", {"guild_id": self.id, "role": role.json()}, intents=GUILDS)
        return role

    def give(self, account: Account, role: Role) -> None:
        self.members[account.id].roles.append(role)
        self._tell_member(account)

    def take(self, account: Account, role: Role) -> None:
        self.members[account.id].roles.remove(role)
        self._tell_member(account)

    def allow_bot(self, *allowed: str) -> Guild:
        """More permissions for the bot's own role."""
        self.bot_role.permissions |= permissions.bits(*allowed)
        data = {"guild_id": self.id, "role": self.bot_role.json()}
        self.scene.gateway.tell("GUILD_ROLE_UPDATE", data, intents=GUILDS)
        return self

    def join(self, user: User) -> None:
        self.members[user.id] = member = Member(account=user)
        data = member.json() | {"guild_id": self.id}
        self.scene.gateway.tell("GUILD_MEMBER_ADD", data, intents=MEMBERS)

    def leave(self, user: User) -> None:
        """They go, or are sent away."""
        del self.members[user.id]
        data = {"guild_id": self.id, "user": user.json()}
        self.scene.gateway.tell("GUILD_MEMBER_REMOVE", data, intents=MEMBERS)

    def kick_bot(self) -> None:
        del self.members[self.scene.bot.id]
        self.scene.gateway.tell("GUILD_DELETE", {"id": self.id}, intents=GUILDS)

    def add_bot(self) -> None:
        self._seat_bot()
        self.scene.gateway.tell("GUILD_CREATE", self.json(), intents=GUILDS)

    def permissions_of(self, account: Account, channel: Channel | None = None) -> int:
        """What somebody may do here, or in a channel; a thread has its parent's overwrites."""
        member = self.members.get(account.id)
        if member is None:
            return 0
        if account.id == self.owner.id:
            return permissions.ALL
        base = permissions.in_guild(role.permissions for role in (self.everyone, *member.roles))
        if channel is None:
            return base
        overwrites = (channel.parent or channel).overwrites
        of_roles = [overwrites[role.id] for role in member.roles if role.id in overwrites]
        return permissions.in_channel(base, overwrites.get(self.id), of_roles, overwrites.get(account.id))

    def json(self) -> Json:
        """GUILD_CREATE: of the members only the bot, as for one without the presences intent."""
        threads = [channel for channel in self.channels if channel.is_thread and not channel.archived]
        return _GUILD | {
            "id": self.id,
            "name": self.name,
            "owner_id": self.owner.id,
            "unavailable": False,
            "large": len(self.members) > 250,
            "member_count": len(self.members),
            "members": [self.members[self.scene.bot.id].json()] if self.has_bot else [],
            "roles": [role.json() for role in self.roles],
            "channels": [channel.json() for channel in self.channels if not channel.is_thread],
            "threads": [thread.json() for thread in threads if thread.bot_sees],
        }

    def add_thread(self, thread: Channel) -> None:
        """A thread is new: tell the bot, if it may see it."""
        self.channels.append(thread)
        if thread.bot_sees:
            self.scene.gateway.tell("THREAD_CREATE", thread.json() | {"newly_created": True}, intents=GUILDS)

    def _add(self, channel: Channel) -> Channel:
        self.channels.append(channel)
        self.scene.gateway.tell("CHANNEL_CREATE", channel.json(), intents=GUILDS)
        return channel

    def _seat_bot(self) -> None:
        bot = self.scene.bot
        self.members[bot.id] = Member(account=bot, roles=[self.bot_role])

    def _tell_member(self, account: Account) -> None:
        data = self.members[account.id].json() | {"guild_id": self.id}
        self.scene.gateway.tell("GUILD_MEMBER_UPDATE", data, intents=MEMBERS)
