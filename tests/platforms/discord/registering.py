"""Routes that register application commands.

Writing what is there already, or deleting and making again, is churn: it works, and is counted.
"""

from __future__ import annotations

from typing import Any

from platforms.core import Json
from platforms.discord import command_rules
from platforms.discord.api import Handler, Request
from platforms.discord.refusals import forbidden, missing, wrong

_DEFAULTS: Json = {
    "type": 1,
    "description": "",
    "options": [],
    "default_member_permissions": None,
    "dm_permission": True,
    "nsfw": False,
    "contexts": None,
    "integration_types": [0],
    "name_localizations": None,
    "description_localizations": None,
}
_KEYS = frozenset(_DEFAULTS) | {"name"}


def get_commands(request: Request) -> Any:
    return _scope(request)


def put_commands(request: Request) -> Any:
    """Replace all of a scope; what keeps its name keeps its id."""
    commands = _scope(request)
    command_rules.check_commands(request.items)
    old = {_key(command): command for command in commands}
    new = [_stored(request, raw, old.get(_key(_DEFAULTS | raw))) for raw in request.items]
    if len(new) == len(commands) and all(_same(command, old.get(_key(command))) for command in new):
        _churn(request, "all commands are written again, though none changed")
    elif commands and not new:
        _churn(request, "all commands are wiped")
    for command in new:
        if _key(command) not in old:
            _count_made(request, command)
    _removed(request, [command for command in commands if _key(command) not in {_key(kept) for kept in new}])
    commands[:] = new
    request.scene.signal.touch()
    return commands


def post_command(request: Request) -> Json:
    """Make one, or replace the one of that name."""
    commands = _scope(request)
    command_rules.check_command(request.form)
    old = next((command for command in commands if _key(command) == _key(_DEFAULTS | request.form)), None)
    new = _stored(request, request.form, old)
    if old is None:
        command_rules.check_counts([*commands, new])
        _count_made(request, new)
        commands.append(new)
    else:
        if _same(new, old):
            _churn(request, f"{new['name']} is written again, though it did not change")
        commands[commands.index(old)] = new
    request.scene.signal.touch()
    return new


def get_command(request: Request) -> Json:
    return _one(request)


def patch_command(request: Request) -> Json:
    old = _one(request)
    merged = {key: value for key, value in old.items() if key in _KEYS} | request.form
    command_rules.check_command(merged)
    new = _stored(request, merged, old)
    if _same(new, old):
        _churn(request, f"{new['name']} is written again, though it did not change")
    commands = _scope(request)
    commands[commands.index(old)] = new
    request.scene.signal.touch()
    return new


def delete_command(request: Request) -> None:
    old = _one(request)
    _scope(request).remove(old)
    _removed(request, [old])
    request.scene.signal.touch()


def _scope(request: Request) -> list[Json]:
    """The commands of a guild, or the global ones."""
    if request.path["app"] != request.scene.app_id:
        raise wrong(20012, "You are not authorized to perform this action on this application", 403)
    if "guild" not in request.path:
        return request.scene.commands
    guild = request.scene.guilds.get(request.path["guild"])
    if guild is None or not guild.has_bot:
        raise forbidden(50001, "Missing Access")
    return guild.commands


def _one(request: Request) -> Json:
    for command in _scope(request):
        if command["id"] == request.path["command"]:
            return command
    raise missing(10063, "application command")


def _stored(request: Request, raw: Json, old: Json | None) -> Json:
    scene = request.scene
    command = _DEFAULTS | {key: value for key, value in raw.items() if value is not None}
    command |= {"id": old["id"] if old else scene.snowflake(), "application_id": scene.app_id}
    command["version"] = old["version"] if _same(command, old) and old else scene.snowflake()
    return command | ({"guild_id": request.path["guild"]} if "guild" in request.path else {})


def _key(command: Json) -> tuple[int, str]:
    return int(command["type"]), str(command["name"])


def _same(command: Json, old: Json | None) -> bool:
    return old is not None and _plain(command) == _plain(old)


def _plain(value: Any) -> Any:
    """A command without what the server adds and without what says nothing."""
    if isinstance(value, dict):
        return {
            key: _plain(part)
            for key, part in value.items()
            if part not in (None, [], {}, False) and key not in ("id", "application_id", "version", "guild_id")
        }
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _churn(request: Request, sentence: str) -> None:
    request.call.violations.append(sentence)


def _count_made(request: Request, command: Json) -> None:
    """https://docs.discord.com/developers/interactions/application-commands: 200 a day."""
    history = request.scene.registered
    if _key(command) in history.removed:
        _churn(request, f"{command['name']} was removed and is made again")
    history.made += 1
    if history.made > request.scene.limits.registrations_a_day:
        raise wrong(30034, "Max number of daily application command creates has been reached (200)", 429)


def _removed(request: Request, commands: list[Json]) -> None:
    request.scene.registered.removed.update(_key(command) for command in commands)


def _both(route: str, handler: Handler) -> dict[str, Handler]:
    verb, _, rest = route.partition(" ")
    return {f"{verb} /applications/{{app}}{scope}/commands{rest}": handler for scope in ("", "/guilds/{guild}")}


ROUTES: dict[str, Handler] = {
    **_both("GET", get_commands),
    **_both("PUT", put_commands),
    **_both("POST", post_command),
    **_both("GET /{command}", get_command),
    **_both("PATCH /{command}", patch_command),
    **_both("DELETE /{command}", delete_command),
}
