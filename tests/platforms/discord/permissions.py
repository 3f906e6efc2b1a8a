"""Permissions: their names and bits, and how roles and a channel's overwrites add up.

https://docs.discord.com/developers/topics/permissions
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BITS = {
    "kick_members": 1,
    "administrator": 3,
    "manage_channels": 4,
    "manage_guild": 5,
    "add_reactions": 6,
    "view_channel": 10,
    "send_messages": 11,
    "manage_messages": 13,
    "embed_links": 14,
    "attach_files": 15,
    "read_message_history": 16,
    "mention_everyone": 17,
    "manage_roles": 28,
    "use_application_commands": 31,
    "manage_threads": 34,
    "create_public_threads": 35,
    "create_private_threads": 36,
    "send_messages_in_threads": 38,
}

EVERYONE = (
    "add_reactions",
    "view_channel",
    "send_messages",
    "embed_links",
    "attach_files",
    "read_message_history",
    "mention_everyone",
    "use_application_commands",
    "create_public_threads",
    "create_private_threads",
    "send_messages_in_threads",
)
"""What the role that everybody has allows in a new guild."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """What a channel allows and denies one role or member."""

    role: bool
    allow: int = 0
    deny: int = 0


def bits(*names: str) -> int:
    return sum(1 << BITS[name] for name in names)


ALL = bits(*BITS)


def has(permissions: int, name: str) -> bool:
    return bool(permissions >> BITS[name] & 1)


def in_guild(roles: Iterable[int]) -> int:
    """What roles allow together."""
    total = 0
    for role in roles:
        total |= role
    return ALL if has(total, "administrator") else total


def in_channel(base: int, everyone: Overwrite | None, roles: Iterable[Overwrite], own: Overwrite | None) -> int:
    """Everybody's overwrite first, then those of the roles together, then one's own."""
    if has(base, "administrator"):
        return ALL
    allow = deny = 0
    for overwrite in roles:
        allow, deny = allow | overwrite.allow, deny | overwrite.deny
    for allowed, denied in (_pair(everyone), (allow, deny), _pair(own)):
        base = base & ~denied | allowed
    return base


def _pair(overwrite: Overwrite | None) -> tuple[int, int]:
    return (overwrite.allow, overwrite.deny) if overwrite else (0, 0)
