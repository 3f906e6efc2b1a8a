"""Methods about the bot itself: who it is, its menus, its webhook, its files."""

from __future__ import annotations

from platforms.core import Json
from platforms.telegram import rules
from platforms.telegram.api import Handler, Request
from platforms.telegram.refusals import missing, wrong


def get_me(request: Request) -> Json:
    bot = request.world.scene.bot
    return {
        **bot.json(),
        "can_join_groups": True,
        "can_read_all_group_messages": not bot.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def get_my_name(request: Request) -> Json:
    return {"name": request.world.scene.bot.name}


def set_my_commands(request: Request) -> bool:
    commands = rules.check_commands(request.params.json("commands"))
    _check_scope_chat(request)
    request.world.scene.menus.put(request.params.json("scope"), request.params.text("language_code"), commands)
    return True


def get_my_commands(request: Request) -> list[Json]:
    _check_scope_chat(request)
    return request.world.scene.menus.get(request.params.json("scope"), request.params.text("language_code"))


def delete_my_commands(request: Request) -> bool:
    _check_scope_chat(request)
    request.world.scene.menus.drop(request.params.json("scope"), request.params.text("language_code"))
    return True


def set_webhook(request: Request) -> bool:
    updates, url = request.world.scene.updates, request.params.text("url")
    if not url:
        return delete_webhook(request)
    secret = request.params.text("secret_token")
    rules.check_webhook(url, secret)
    updates.allow(request.params.json("allowed_updates"))
    if request.params.flag("drop_pending_updates"):
        updates.clear()
    updates.set_webhook(url, secret)
    return True


def delete_webhook(request: Request) -> bool:
    if request.params.flag("drop_pending_updates"):
        request.world.scene.updates.clear()
    request.world.scene.updates.remove_webhook()
    return True


def get_webhook_info(request: Request) -> Json:
    updates = request.world.scene.updates
    hook = updates.webhook
    body: Json = {"url": hook.url, "has_custom_certificate": False, "pending_update_count": updates.pending}
    if hook.last_error:
        body |= {"last_error_date": hook.last_error_at, "last_error_message": hook.last_error}
    return body | ({"allowed_updates": sorted(updates.allowed)} if updates.allowed else {})


def get_file(request: Request) -> Json:
    files = request.world.scene.files
    stored = files.find(request.params.text("file_id"))
    if stored is None:
        raise wrong("wrong file_id or the file is temporarily unavailable")
    if len(stored.data) > request.limits.download_bytes:
        raise wrong("file is too big")
    return {**stored.json(), "file_path": files.path_of(stored)}


def _check_scope_chat(request: Request) -> None:
    """A direct chat is there once its person has written to the bot."""
    scope = request.params.json("scope") or {}
    if not isinstance(scope, dict) or "chat_id" not in scope:
        return
    chat = request.world.chats.get(int(scope["chat_id"]))
    if chat is None:
        raise wrong("chat not found")
    if chat.bot.standing == "stranger":
        raise missing("chat not found")


METHODS: dict[str, Handler] = {
    "getMe": get_me,
    "getMyName": get_my_name,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "getFile": get_file,
}
