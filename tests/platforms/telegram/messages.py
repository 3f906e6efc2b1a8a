"""Methods that send, change and remove messages, and answer pressed buttons."""

from __future__ import annotations

from platforms.core import Json, utf16_len
from platforms.telegram import rules
from platforms.telegram.api import Handler, Request
from platforms.telegram.chats import Chat, Message, Topic
from platforms.telegram.people import Answer
from platforms.telegram.refusals import Refused, missing, wrong

DELETE_SECONDS = 48 * 3600
DELETED_AT_ONCE = 100

_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"RIFF")


def send_message(request: Request) -> Json:
    content = request.read_text()
    options = request.params.json("link_preview_options")
    if options is not None and not isinstance(options, dict):
        raise wrong("can't parse link preview options: expected an Object")
    return _send(request, content).json()


def send_document(request: Request) -> Json:
    name, data = _upload(request, "document", request.limits.upload_bytes)
    content = request.world.scene.files.document(name, data, "application/octet-stream")
    return _send(request, content | _caption(request), data=data).json()


def send_photo(request: Request) -> Json:
    _, data = _upload(request, "photo", request.limits.photo_bytes)
    if not data.startswith(_IMAGES):
        raise wrong("IMAGE_PROCESS_FAILED")
    return _send(request, request.world.scene.files.photo(data) | _caption(request), data=data).json()


def edit_message_text(request: Request) -> Json:
    content = request.read_text()
    message = _own(request)
    if "text" not in message.content:
        raise wrong("there is no text in the message to edit")
    return _change(request, message, content)


def edit_message_reply_markup(request: Request) -> Json:
    message = _own(request)
    return _change(request, message, message.content)


def delete_message(request: Request) -> bool:
    chat = request.chat()
    _delete(request, chat, request.message(chat, "delete"))
    return True


def delete_messages(request: Request) -> bool:
    chat, ids = request.chat(), request.params.json("message_ids")
    if not isinstance(ids, list) or not 1 <= len(ids) <= DELETED_AT_ONCE:
        raise wrong("message identifiers are not specified, or over 100")
    for message_id in ids:
        message = chat.messages.get(int(message_id))
        if message and not message.deleted:
            _delete(request, chat, message)
    return True


def answer_callback_query(request: Request) -> bool:
    scene = request.world.scene
    press = scene.presses.get(request.params.text("callback_query_id"))
    too_old = "query is too old and response timeout expired or query ID is invalid"
    if press is None or scene.clock.now() - press.at > request.limits.answer_seconds:
        raise wrong(too_old)
    if press.answer is not None:
        request.violations.append("one press was answered twice")
        raise missing(too_old)
    text = request.params.text("text")
    if utf16_len(text) > rules.CALLBACK_ANSWER_LIMIT:
        raise wrong("MESSAGE_TOO_LONG")
    press.answer = Answer(text=text, alert=request.params.flag("show_alert"), url=request.params.text("url"))
    press.button.message.chat.touch()
    return True


def send_chat_action(request: Request) -> bool:
    if request.params.text("action") not in rules.ACTIONS:
        raise wrong("wrong parameter action in request")
    chat = request.chat()
    chat.actions.append((request.params.text("action"), request.topic(chat)))
    chat.touch()
    return True


def set_message_reaction(request: Request) -> bool:
    emoji = rules.check_reactions(request.params.json("reaction") or [])
    chat = request.chat()
    message = request.message(chat, "react to")
    message.reactions = emoji
    chat.touch()
    return True


def _send(request: Request, content: Json, *, data: bytes | None = None) -> Message:
    chat, rows = request.chat(), request.rows()
    if chat.kind == "channel" and not request.right(chat, "can_post_messages"):
        raise missing("need administrator rights in the channel chat")
    topic, reply_to = _place(request, chat)
    request.count(chat)
    bot = request.world.scene.bot
    sender = {"sender_chat": chat.json()} if chat.kind == "channel" else {"from": bot.json()}
    return chat.add(sender=sender, content=content, topic=topic, reply_to=reply_to, rows=rows, from_bot=True, data=data)


def _place(request: Request, chat: Chat) -> tuple[Topic | None, Message | None]:
    reply_to = _reply_target(request, chat)
    topic = request.topic(chat)
    if topic and reply_to and reply_to.topic is not topic:
        request.violations.append("a reply to a message of another topic")
    if topic is None and chat.forum:
        topic = reply_to.topic if reply_to else chat.general
    if topic and topic.closed and not request.right(chat, "can_manage_topics"):
        raise missing("TOPIC_CLOSED")
    return topic, reply_to


def _reply_target(request: Request, chat: Chat) -> Message | None:
    reply = request.params.json("reply_parameters") or {}
    if not isinstance(reply, dict):
        raise wrong("can't parse reply parameters: expected an Object")
    message_id = int(reply.get("message_id") or request.params.number("reply_to_message_id"))
    if not message_id:
        return None
    lenient = reply.get("allow_sending_without_reply") or request.params.flag("allow_sending_without_reply")
    message = chat.messages.get(message_id)
    if message is not None and not message.deleted:
        if reply.get("quote", "") not in message.text:
            raise wrong("QUOTE_TEXT_INVALID")
        return message
    if not lenient:
        raise missing("message to be replied not found")
    return None


def _caption(request: Request) -> Json:
    content = request.read_text("caption")
    return {"caption": content["text"], "caption_entities": content["entities"]}


def _upload(request: Request, kind: str, limit: int) -> tuple[str, bytes]:
    """The name and bytes of a file that comes along, or that Telegram has already."""
    reference = request.params.text(kind)
    field = reference.removeprefix("attach://") or kind
    if field in request.call.files:
        data = request.call.files[field]
        name = request.params.text(f"{field}:name") or "file"
    elif stored := request.world.scene.files.find(reference):
        name, data = stored.name, stored.data
    else:
        raise wrong("wrong file identifier/HTTP URL specified" if reference else f"there is no {kind} in the request")
    if not data:
        raise wrong("file must be non-empty")
    if len(data) > limit:
        raise Refused(413, "Request Entity Too Large", violation=True)
    return name, data


def _own(request: Request) -> Message:
    message = request.message(request.chat(), "edit")
    if not message.from_bot:
        raise wrong("message can't be edited")
    return message


def _change(request: Request, message: Message, content: Json) -> Json:
    rows = request.rows(inline_only=True)
    if (content, rows) == (message.content, message.rows):
        raise missing(_NOT_MODIFIED)
    request.count(message.chat)
    message.edits.append(message.text)
    message.content, message.rows = content, rows
    scene = request.world.scene
    message.edited_at = int(scene.clock.now())
    message.changed = scene.change()
    message.chat.touch()
    return message.json()


def _delete(request: Request, chat: Chat, message: Message) -> None:
    old = request.world.scene.clock.now() - message.date > DELETE_SECONDS
    allowed = message.from_bot or chat.kind == "private" or request.right(chat, "can_delete_messages")
    if old or not allowed or "forum_topic_created" in message.content:
        raise wrong("message can't be deleted")
    message.deleted = True
    request.world.scene.change()
    chat.touch()


METHODS: dict[str, Handler] = {
    "sendMessage": send_message,
    "sendDocument": send_document,
    "sendPhoto": send_photo,
    "editMessageText": edit_message_text,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "answerCallbackQuery": answer_callback_query,
    "sendChatAction": send_chat_action,
    "setMessageReaction": set_message_reaction,
}
