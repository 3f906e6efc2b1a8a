"""Methods that send, change, mark and remove messages."""

from __future__ import annotations

import re

from platforms.core import Json
from platforms.slack.api import TEXT_LIMIT, Handler, Request
from platforms.slack.channels import Message, tell, tell_changed, tell_deleted
from platforms.slack.refusals import missing, wrong

_REACTION = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


def post_message(request: Request) -> Json:
    request.need_scope("chat:write")
    channel = request.channel(write=True)
    content, thread = request.content(), request.thread(channel)
    request.count_post(channel)
    raw = {**request.world.scene.app.author(), **content} | ({"thread_ts": thread} if thread else {})
    if thread and request.params.flag("reply_broadcast"):
        raw["subtype"] = "thread_broadcast"
    message = channel.add(raw, from_bot=True)
    if thread:
        channel.statuses.append(("", thread))
    tell(message)
    answer = {"channel": channel.id, "ts": message.ts, "message": message.raw}
    if len(request.params.text("text")) > TEXT_LIMIT:
        answer["response_metadata"] = {"warnings": ["message_truncated"]}
    return answer


def post_ephemeral(request: Request) -> Json:
    request.need_scope("chat:write")
    channel, user_id = request.channel(write=True), request.params.needed("user")
    if user_id not in request.world.users:
        raise wrong("user_not_in_channel")
    if user_id not in channel.members:
        raise missing("user_not_in_channel")
    content, thread = request.content(), request.thread(channel)
    raw = {**request.world.scene.app.author(), **content} | ({"thread_ts": thread} if thread else {})
    return {"message_ts": channel.add(raw, only_for=user_id, from_bot=True).ts}


def update(request: Request) -> Json:
    request.need_scope("chat:write")
    message = _own(request, "cant_update_message")
    content = request.content(update=True)
    before = dict(message.raw)
    message.channel.show_instead(message, content)
    message.raw["edited"] = {"user": request.world.scene.app.user_id, "ts": request.world.scene.ts()}
    tell_changed(message, before)
    return {"channel": message.channel.id, "ts": message.ts, "text": message.wire, "message": message.raw}


def delete(request: Request) -> Json:
    request.need_scope("chat:write")
    message = _own(request, "cant_delete_message")
    message.channel.remove(message)
    tell_deleted(message)
    return {"channel": message.channel.id, "ts": message.ts}


def get_permalink(request: Request) -> Json:
    channel = request.channel()
    message = request.message(channel, "message_ts")
    path = f"/archives/{channel.id}/p{message.ts.replace('.', '')}"
    return {"channel": channel.id, "permalink": f"https://{request.world.scene.app.domain}.slack.com{path}"}


def add_reaction(request: Request) -> Json:
    request.need_scope("reactions:write")
    message = request.message(request.channel(write=True), "timestamp")
    people, me = message.reactions.setdefault(_reaction(request), set()), request.world.scene.app.user_id
    if me in people:
        raise missing("already_reacted")
    people.add(me)
    message.channel.touch()
    return {}


def remove_reaction(request: Request) -> Json:
    request.need_scope("reactions:write")
    message = request.message(request.channel(write=True), "timestamp")
    people, me = message.reactions.get(_reaction(request), set()), request.world.scene.app.user_id
    if me not in people:
        raise missing("no_reaction")
    people.discard(me)
    message.channel.touch()
    return {}


def _own(request: Request, error: str) -> Message:
    """A message of ours; one that only one person sees is changed through its response_url alone."""
    channel = request.channel()
    if channel.archived:
        raise missing("is_archived")
    message = request.message(channel)
    if not message.from_bot:
        raise wrong(error)
    return message


def _reaction(request: Request) -> str:
    name = request.params.text("name")
    if not _REACTION.fullmatch(name):
        raise wrong("invalid_name")
    return name


METHODS: dict[str, Handler] = {
    "chat.delete": delete,
    "chat.getPermalink": get_permalink,
    "chat.postEphemeral": post_ephemeral,
    "chat.postMessage": post_message,
    "chat.update": update,
    "reactions.add": add_reaction,
    "reactions.remove": remove_reaction,
}
