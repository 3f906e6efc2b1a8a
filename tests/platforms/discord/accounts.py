"""Routes about the bot itself and about people."""

from __future__ import annotations

from typing import Any

from platforms.core import Json
from platforms.discord.api import Handler, Request
from platforms.discord.refusals import missing, wrong


def get_me(request: Request) -> Json:
    return request.scene.bot.json() | {"verified": True, "mfa_enabled": True, "locale": "en-US"}


def get_application(request: Request) -> Json:
    scene = request.scene
    owner = next(iter(scene.users.values()), scene.bot)
    return {
        "id": scene.app_id,
        "name": scene.bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "owner": owner.json(),
        "team": None,
        "flags": scene.gateway.app_flags,
        "interactions_endpoint_url": None,
        "approximate_guild_count": len(scene.guilds),
    }


def get_gateway(request: Request) -> Json:
    return {"url": request.scene.gateway_url}


def get_gateway_bot(request: Request) -> Json:
    left = 1000 - request.scene.gateway.identified
    limit = {"total": 1000, "remaining": left, "reset_after": 86_400_000, "max_concurrency": 1}
    return {"url": request.scene.gateway_url, "shards": 1, "session_start_limit": limit}


def get_user(request: Request) -> Json:
    user = request.scene.users.get(request.path["user"])
    if user is None:
        raise missing(10013, "User")
    return user.json()


def open_direct(request: Request) -> Json:
    user = request.scene.users.get(str(request.form.get("recipient_id")))
    if user is None or user.bot:
        raise wrong(50033, "Invalid Recipient(s)")
    return user.private.json()


def get_guild(request: Request) -> Json:
    return request.guild().json()


def get_guild_channels(request: Request) -> Any:
    return request.guild().json()["channels"]


def get_roles(request: Request) -> Any:
    return [role.json() for role in request.guild().roles]


def get_member(request: Request) -> Json:
    member = request.guild().members.get(request.path["user"])
    if member is None:
        raise missing(10007, "Member")
    return member.json()


def get_active_threads(request: Request) -> Json:
    threads = [channel for channel in request.guild().channels if channel.is_thread and not channel.archived]
    return {"threads": [thread.json() for thread in threads if thread.bot_sees], "members": []}


ROUTES: dict[str, Handler] = {
    "GET /users/@me": get_me,
    "GET /applications/@me": get_application,
    "GET /oauth2/applications/@me": get_application,
    "GET /gateway": get_gateway,
    "GET /gateway/bot": get_gateway_bot,
    "GET /users/{user}": get_user,
    "POST /users/@me/channels": open_direct,
    "GET /guilds/{guild}": get_guild,
    "GET /guilds/{guild}/channels": get_guild_channels,
    "GET /guilds/{guild}/roles": get_roles,
    "GET /guilds/{guild}/members/{user}": get_member,
    "GET /guilds/{guild}/threads/active": get_active_threads,
}
