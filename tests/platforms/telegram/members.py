"""Places in a chat: who is in it and with what rights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from platforms.core import Json

Standing = Literal["creator", "administrator", "member", "left", "kicked", "blocked", "stranger"]
"""A bot is blocked by a person, and a stranger to one who never wrote to it."""

INSIDE = frozenset({"creator", "administrator", "member"})
BOT_RIGHTS = ("can_delete_messages", "can_manage_topics", "can_post_messages")

_STATUS = {"blocked": "kicked", "stranger": "left"}
_ADMIN_RIGHTS = (
    "can_be_edited can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members can_promote_members "
    "can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories"
)


@dataclass(kw_only=True)
class Seat:
    """Somebody's place in a chat; the bot has one too."""

    user: Json
    standing: Standing = "member"
    anonymous: bool = False
    rights: frozenset[str] = frozenset()


def member_json(seat: Seat) -> Json:
    """A ChatMember."""
    body: Json = {"user": seat.user, "status": _STATUS.get(seat.standing, seat.standing)}
    match body["status"]:
        case "creator":
            body["is_anonymous"] = seat.anonymous
        case "administrator":
            body |= dict.fromkeys(_ADMIN_RIGHTS.split(), False) | dict.fromkeys(seat.rights, True)
            body["is_anonymous"] = seat.anonymous
        case "kicked":
            body["until_date"] = 0
    return body
