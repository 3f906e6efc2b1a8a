"""Routes about channels, their messages and threads."""

from __future__ import annotations

from typing import Any

from platforms.core import Json
from platforms.discord.api import Handler, Request
from platforms.discord.channels import Channel, Kind
from platforms.discord.messages import DEFAULT, REPLY, Message
from platforms.discord.people import open_thread
from platforms.discord.refusals import Problems, Refused, forbidden, wrong
from platforms.discord.rules import EPHEMERAL
from platforms.discord.scene import EPOCH_MS

ARCHIVE_MINUTES = (60, 1440, 4320, 10080)
NAME_LIMIT = 100
BULK_FEWEST, BULK_MOST = 2, 100
BULK_OLDEST_MS = 14 * 86_400_000


def get_channel(request: Request) -> Json:
    return request.channel().json()


def patch_channel(request: Request) -> Json:
    channel = request.channel()
    own = channel.is_thread and channel.owner == request.scene.bot
    channel = channel if own else request.channel("manage_threads" if channel.is_thread else "manage_channels")
    problems = Problems()
    if "name" in request.form:
        problems.length(("name",), request.form["name"], 1, NAME_LIMIT)
    problems.refuse()
    channel.name = request.form.get("name", channel.name)
    channel.archived = request.form.get("archived", channel.archived)
    channel.locked = request.form.get("locked", channel.locked)
    channel.tell_update()
    return channel.json()


def post_message(request: Request) -> Json:
    channel = _open_to(request, *(("attach_files",) if request.files else ()))
    nonce = str(request.form.get("nonce") or "")
    if nonce and request.form.get("enforce_nonce") and nonce in channel.nonces:
        return channel.nonces[nonce].json()
    fields = request.sendable(request.form)
    if fields["flags"] & EPHEMERAL:
        fields["flags"] &= ~EPHEMERAL
        request.call.violations.append("a message of its own cannot be ephemeral")
    target = _target(request, channel)
    allowed = request.form.get("allowed_mentions")
    kind = REPLY if target else DEFAULT
    channel.archived = False
    message = channel.add(
        request.scene.bot,
        fields.pop("text"),
        files=request.files,
        allowed_mentions=allowed,
        type=kind,
        reply_to=target,
        **fields,
    )
    if nonce:
        channel.nonces[nonce] = message
    return request.sent(message) | ({"nonce": nonce} if nonce else {})


def get_messages(request: Request) -> Any:
    channel = request.channel("read_message_history")
    wanted = request.call.params
    before, after = int(wanted.get("before") or 1 << 63), int(wanted.get("after") or 0)
    limit = int(wanted.get("limit") or 50)
    if not 1 <= limit <= 100:
        raise wrong(50035, "Invalid Form Body: limit: int value should be 1 to 100.")
    messages = [m for m in channel.messages.values() if m.shown and not m.ephemeral and after < int(m.id) < before]
    newest_first = sorted(messages, key=lambda message: int(message.id), reverse=True)
    chosen = newest_first[-limit:] if "after" in wanted else newest_first[:limit]
    return [_readable(request, message) for message in chosen]


def get_message(request: Request) -> Json:
    channel = request.channel("read_message_history")
    return _readable(request, request.message(channel))


def patch_message(request: Request) -> Json:
    message = request.message(request.channel())
    if not message.from_bot:
        raise wrong(50005, "Cannot edit a message authored by another user", 403)
    if message.channel.archived:
        raise Refused(400, 50083, "Thread is archived")
    return request.edit(message, request.form)


def delete_message(request: Request) -> None:
    channel = request.channel()
    message = request.message(channel)
    if not message.from_bot:
        request.channel("manage_messages")
    message.deleted = True
    request.scene.change()
    channel.tell("MESSAGE_DELETE", message)
    channel.touch()


def delete_messages(request: Request) -> None:
    """2 to 100 at once, none older than two weeks, and not in direct chats."""
    channel = request.channel("manage_messages")
    if channel.kind is Kind.DM:
        raise wrong(50003, "Cannot execute action on a DM channel")
    ids = [str(message_id) for message_id in request.form.get("messages") or []]
    if not BULK_FEWEST <= len(ids) <= BULK_MOST:
        raise wrong(50016, "Provided too few or too many messages to delete. Must provide 2 to 100 messages to delete.")
    messages = [channel.messages[message_id] for message_id in ids if message_id in channel.messages]
    oldest = int(request.scene.clock.now() * 1000) - EPOCH_MS - BULK_OLDEST_MS
    if any(int(message.id) >> 22 < oldest for message in messages):
        raise wrong(50034, "You can only bulk delete messages that are under 14 days old.")
    request.scene.change()
    for message in messages:
        message.deleted = True
        channel.tell("MESSAGE_DELETE", message)
    channel.touch()


def show_typing(request: Request) -> None:
    channel = _open_to(request)
    channel.typed += 1
    channel.touch()


def react(request: Request) -> None:
    message = request.message(request.channel("add_reactions", "read_message_history"))
    message.reactions.append(request.path["emoji"])
    message.channel.touch()


def start_thread(request: Request) -> Json:
    """From a message, in a channel, or as a post of a forum."""
    forum = "message" not in request.path and request.channel().kind is Kind.FORUM
    private = "message" not in request.path and not forum and request.form.get("type", 12) == Kind.PRIVATE_THREAD
    channel = request.channel(
        "send_messages" if forum else "create_private_threads" if private else "create_public_threads"
    )
    _check_thread(request)
    if channel.kind not in (Kind.TEXT, Kind.FORUM):
        raise wrong(50024, "Cannot execute action on this channel type")
    start = request.message(channel) if "message" in request.path else None
    if start is not None and start.thread is not None:
        raise Refused(400, 160004, "A thread has already been created for this message")
    fields = request.sendable(request.form.get("message") or {}) if forum else {}
    kind = Kind.PRIVATE_THREAD if private else Kind.PUBLIC_THREAD
    thread = open_thread(request.scene.bot, channel, kind, request.form["name"], start=start)
    thread.archive_minutes = request.form.get("auto_archive_duration") or 4320
    request.scene.signal.touch()
    if not forum:
        return thread.json()
    allowed = request.form["message"].get("allowed_mentions")
    post = thread.add(
        request.scene.bot,
        fields.pop("text"),
        files=request.files,
        allowed_mentions=allowed,
        message_id=thread.id,
        **fields,
    )
    return thread.json() | {"message": request.sent(post)}


def join_thread(request: Request) -> None:
    request.channel().inside.add(request.scene.bot.id)


def _check_thread(request: Request) -> None:
    problems = Problems()
    problems.length(("name",), request.form.get("name"), 1, NAME_LIMIT)
    minutes = request.form.get("auto_archive_duration") or 60
    problems.choice(("auto_archive_duration",), minutes, ARCHIVE_MINUTES)
    problems.refuse()


def _open_to(request: Request, *more: str) -> Channel:
    """The channel of the path, if the bot may write there now."""
    channel = request.channel("send_messages", *more)
    if channel.kind is Kind.FORUM:
        raise wrong(50008, "Cannot send messages in a non-text channel")
    if channel.kind is Kind.DM and channel.blocked:
        raise forbidden(50007, "Cannot send messages to this user")
    if channel.locked and channel.archived:
        raise Refused(400, 50083, "Thread is archived")
    return channel


def _target(request: Request, channel: Channel) -> Message | None:
    """What the message replies to."""
    reference = request.form.get("message_reference")
    if not reference:
        return None
    message = channel.messages.get(str(reference.get("message_id")))
    if message is not None and not message.deleted and not message.ephemeral:
        return message
    if reference.get("fail_if_not_exists", True):
        errors = [{"code": "REPLIES_UNKNOWN_MESSAGE", "message": "Unknown message"}]
        raise Refused(400, 50035, "Invalid Form Body", errors={"message_reference": {"_errors": errors}})
    return None


def _readable(request: Request, message: Message) -> Json:
    blind = "message_content" not in request.scene.gateway.privileged
    return message.for_blind(message.json()) if blind else message.json()


ROUTES: dict[str, Handler] = {
    "GET /channels/{channel}": get_channel,
    "PATCH /channels/{channel}": patch_channel,
    "GET /channels/{channel}/messages": get_messages,
    "POST /channels/{channel}/messages": post_message,
    "GET /channels/{channel}/messages/{message}": get_message,
    "PATCH /channels/{channel}/messages/{message}": patch_message,
    "DELETE /channels/{channel}/messages/{message}": delete_message,
    "POST /channels/{channel}/messages/bulk-delete": delete_messages,
    "POST /channels/{channel}/typing": show_typing,
    "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me": react,
    "POST /channels/{channel}/threads": start_thread,
    "POST /channels/{channel}/messages/{message}/threads": start_thread,
    "PUT /channels/{channel}/thread-members/@me": join_thread,
}
