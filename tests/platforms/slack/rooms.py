"""Methods about the app itself, people, channels and assistant threads."""

from __future__ import annotations

from typing import Any

from platforms.core import Json
from platforms.slack.api import Handler, Request
from platforms.slack.refusals import missing, wrong

PAGE, PAGE_LIMIT = 100, 1000
LOADING_MESSAGES_LIMIT = 10


def auth_test(request: Request) -> Json:
    app = request.world.scene.app
    return {
        "url": f"https://{app.domain}.slack.com/",
        "team": app.team_name,
        "user": app.manifest.username,
        "team_id": app.team,
        "user_id": app.user_id,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


def team_info(request: Request) -> Json:
    request.need_scope("team:read")
    app = request.world.scene.app
    return {"team": {"id": app.team, "name": app.team_name, "domain": app.domain}}


def users_info(request: Request) -> Json:
    request.need_scope("users:read")
    found = request.world.user_json(request.params.needed("user"))
    if found is None:
        raise wrong("user_not_found")
    return {"user": found}


def conversations_info(request: Request) -> Json:
    channel = request.channel()
    request.need_family(channel, "read")
    members = {"num_members": len(channel.members)} if request.params.flag("include_num_members") else {}
    return {"channel": channel.json() | members}


def conversations_members(request: Request) -> Json:
    channel = request.channel()
    request.need_family(channel, "read")
    members, cursor = _page(request, [*channel.members, *([request.world.scene.app.user_id] if channel.bot_in else [])])
    return {"members": members, "response_metadata": {"next_cursor": cursor}}


def conversations_open(request: Request) -> Json:
    request.need_scope("im:write")
    users = request.params.text("users").split(",")
    person = request.world.users.get(users[0])
    if len(users) != 1 or person is None:
        raise wrong("users_not_found")
    if person.deactivated:
        raise missing("user_disabled")
    return {"channel": {"id": person.private.id}}


def conversations_replies(request: Request) -> Json:
    channel = request.channel()
    request.need_family(channel, "history")
    if not channel.bot_in:
        raise missing("not_in_channel")
    root = request.message(channel, error="thread_not_found").root
    inside = [
        m.raw for m in channel.messages.values() if root in (m.ts, m.thread_ts) and not m.deleted and not m.ephemeral
    ]
    oldest = request.params.ts("oldest", "invalid_ts_oldest")
    messages, cursor = _page(request, [raw for raw in inside if raw["ts"] > oldest or raw["ts"] == root])
    return {"messages": messages, "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}


def set_status(request: Request) -> Json:
    request.need_scope("chat:write", "assistant:write")
    channel = request.channel("channel_id", write=True)
    if not request.params.text("thread_ts"):
        raise wrong("invalid_thread_ts")
    if len(request.params.json("loading_messages") or []) > LOADING_MESSAGES_LIMIT:
        raise wrong("invalid_arguments", f"over {LOADING_MESSAGES_LIMIT} loading_messages")
    channel.statuses.append((request.params.text("status"), request.thread(channel)))
    channel.touch()
    return {}


def set_title(request: Request) -> Json:
    request.need_scope("assistant:write")
    channel, title = request.channel("channel_id", write=True), request.params.needed("title")
    channel.titles[request.message(channel, "thread_ts", "invalid_thread_ts").root] = title
    channel.touch()
    return {}


def _page(request: Request, every: list[Any]) -> tuple[list[Any], str]:
    """The part that `cursor` and `limit` ask for, and the next cursor."""
    limit = request.params.number("limit", PAGE)
    if not 1 <= limit <= PAGE_LIMIT:
        raise wrong("invalid_limit")
    cursor = request.params.text("cursor")
    if not cursor.removeprefix("next-").isdigit() and cursor:
        raise wrong("invalid_cursor")
    begin = int(cursor.removeprefix("next-") or 0)
    end = begin + limit
    return every[begin:end], f"next-{end}" if end < len(every) else ""


METHODS: dict[str, Handler] = {
    "assistant.threads.setStatus": set_status,
    "assistant.threads.setTitle": set_title,
    "auth.test": auth_test,
    "conversations.info": conversations_info,
    "conversations.members": conversations_members,
    "conversations.open": conversations_open,
    "conversations.replies": conversations_replies,
    "team.info": team_info,
    "users.info": users_info,
}
