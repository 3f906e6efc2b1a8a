"""Methods about chats, their members and topics."""

from __future__ import annotations

from platforms.core import Json
from platforms.telegram import rules
from platforms.telegram.api import Handler, Request
from platforms.telegram.chats import Topic
from platforms.telegram.members import Seat, member_json
from platforms.telegram.refusals import missing, wrong

ICON_COLOURS = frozenset({7322096, 16766590, 13338331, 9367192, 16749490, 16478047})

_FULL: Json = {
    "accent_color_id": 0,
    "max_reaction_count": 11,
    "accepted_gift_types": dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    ),
}


def get_chat(request: Request) -> Json:
    return request.chat().json() | _FULL


def get_chat_member(request: Request) -> Json:
    chat, user_id = request.chat(), request.params.number("user_id")
    if user_id in chat.seats:
        return member_json(chat.seats[user_id])
    if user_id not in request.world.users:
        raise wrong("PARTICIPANT_ID_INVALID")
    return member_json(Seat(user=request.world.users[user_id].json(), standing="left"))


def get_chat_administrators(request: Request) -> list[Json]:
    """Bots other than the one that asks are left out; there are none here."""
    chat = request.chat()
    if chat.kind == "private":
        raise wrong("there are no administrators in the private chat")
    return [member_json(seat) for seat in chat.seats.values() if seat.standing in ("creator", "administrator")]


def leave_chat(request: Request) -> bool:
    chat = request.chat()
    if chat.kind == "private":
        raise wrong("chat is not a group, supergroup or channel")
    chat.bot.standing = "left"
    return True


def create_forum_topic(request: Request) -> Json:
    chat = request.chat()
    if not chat.forum:
        raise missing("the chat is not a forum")
    if not request.right(chat, "can_manage_topics"):
        raise missing("not enough rights to create a topic")
    name = rules.check_topic_name(request.params.text("name"))
    colour = request.params.number("icon_color") or 7322096
    if colour not in ICON_COLOURS:
        raise wrong("wrong topic icon color specified")
    topic = chat.open_topic(name, {"from": request.world.scene.bot.json()}, by_bot=True)
    return {"message_thread_id": topic.id, "name": name, "icon_color": colour}


def edit_forum_topic(request: Request) -> bool:
    topic, name = _topic(request), rules.check_topic_name(request.params.text("name"))
    if topic.name == name:
        raise missing("TOPIC_NOT_MODIFIED")
    topic.name = name
    topic.chat.touch()
    return True


def close_forum_topic(request: Request) -> bool:
    return _set_closed(request, closed=True)


def reopen_forum_topic(request: Request) -> bool:
    return _set_closed(request, closed=False)


def _set_closed(request: Request, *, closed: bool) -> bool:
    topic = _topic(request)
    if topic.closed is closed:
        raise missing("TOPIC_NOT_MODIFIED")
    topic.closed = closed
    topic.chat.touch()
    return True


def _topic(request: Request) -> Topic:
    chat = request.chat()
    topic = request.topic(chat)
    if topic is None:
        raise wrong("message thread not found")
    made = chat.messages[topic.id].from_bot
    if not made and not request.right(chat, "can_manage_topics"):
        raise missing("not enough rights to manage topics")
    return topic


METHODS: dict[str, Handler] = {
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "getChatAdministrators": get_chat_administrators,
    "leaveChat": leave_chat,
    "createForumTopic": create_forum_topic,
    "editForumTopic": edit_forum_topic,
    "closeForumTopic": close_forum_topic,
    "reopenForumTopic": reopen_forum_topic,
}
