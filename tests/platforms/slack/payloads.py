"""Pieces of what commands and interactions carry."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from platforms.core import Json
from platforms.slack.scene import ResponseUrl, Scene

if TYPE_CHECKING:
    from platforms.slack.channels import Channel, Message
    from platforms.slack.people import User


def opener(scene: Scene, user: User, channel: Channel) -> Json:
    """What a slash command carries beside its words. It names no thread."""
    app = scene.app
    return {
        "token": "verification-token",
        "team_id": app.team,
        "team_domain": app.domain,
        "channel_id": channel.id,
        "channel_name": channel.name or "directmessage",
        "user_id": user.id,
        "user_name": user.handle,
        "api_app_id": app.id,
        "is_enterprise_install": "false",
        "response_url": response_url(scene, user, channel),
        "trigger_id": scene.trigger(user),
    }


def user_payload(user: User) -> Json:
    return {"id": user.id, "username": user.handle, "name": user.handle, "team_id": user.scene.app.team}


def container(message: Message) -> Json:
    """Where something pressed was."""
    body: Json = {"type": "message", "message_ts": message.ts, "channel_id": message.channel.id}
    body["is_ephemeral"] = message.ephemeral
    return body | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def message_payload(message: Message) -> Json:
    """A message as it is now; of a deleted one Slack has little left."""
    return {"type": "message", "ts": message.ts} if message.deleted else dict(message.raw)


def response_url(scene: Scene, user: User, channel: Channel, message: Message | None = None) -> str:
    key = secrets.token_hex(12)
    scene.response_urls[key] = ResponseUrl(at=scene.clock.now(), user_id=user.id, channel=channel, message=message)
    return scene.url("hooks", f"/response/{scene.app.team}/{key}")
