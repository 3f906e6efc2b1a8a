"""Answers to a command or click: with its acknowledgement, or by its response_url.

https://docs.slack.dev/interactivity/handling-user-interaction: five answers within half an hour, to be seen
by the person alone unless they say "in_channel".
"""

from __future__ import annotations

from platforms.core import Json
from platforms.slack.api import Limits, read_content
from platforms.slack.channels import Channel, Message, tell, tell_changed, tell_deleted
from platforms.slack.deliveries import Delivery
from platforms.slack.refusals import Refused, missing
from platforms.slack.scene import ResponseUrl, Scene

GONE = 404


def respond(scene: Scene, limits: Limits, key: str, body: Json, violations: list[str]) -> None:
    """One use of a response_url."""
    found = scene.response_urls.get(key)
    if found is None:
        raise Refused("invalid_url", violation=True, status=GONE)
    if scene.clock.now() - found.at > limits.answer_seconds:
        raise Refused("expired_url", violation=True, status=GONE)
    if found.uses >= limits.answer_uses:
        raise Refused("used_url", violation=True, status=GONE)
    found.uses += 1
    if body.get("delete_original"):
        _delete(_original(found))
    elif body.get("replace_original"):
        _replace(_original(found), read_content(body, violations, api=False))
    else:
        show(scene, found.channel, found.user_id, body, violations)


def show_acknowledgement(scene: Scene, delivery: Delivery) -> None:
    """The message that a command's acknowledgement brought."""
    assert delivery.channel is not None
    assert delivery.user is not None
    violations: list[str] = []
    try:
        show(scene, delivery.channel, delivery.user.id, delivery.answer or {}, violations)
    except Refused as refused:
        violations.append(refused.sentence)
    for sentence in violations:
        scene.note(f"{delivery.kind}: {sentence}")


def show(scene: Scene, channel: Channel, user_id: str, body: Json, violations: list[str]) -> Message:
    """Put an answer into the channel, or before the person alone."""
    raw = {**scene.app.author(), **read_content(body, violations, api=False)}
    thread = body.get("thread_ts")
    if thread:
        if str(thread) not in channel.messages:
            violations.append("thread_ts names no message here")
        raw["thread_ts"] = thread
    public = body.get("response_type") == "in_channel"
    message = channel.add(raw, only_for=None if public else user_id, from_bot=True)
    tell(message)
    return message


def _original(found: ResponseUrl) -> Message:
    if found.message is None or found.message.deleted:
        raise missing("message_not_found")
    return found.message


def _replace(message: Message, content: Json) -> None:
    before = dict(message.raw)
    message.channel.show_instead(message, content)
    tell_changed(message, before)


def _delete(message: Message) -> None:
    message.channel.remove(message)
    tell_deleted(message)
