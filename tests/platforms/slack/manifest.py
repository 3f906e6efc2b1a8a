"""The app's configuration as its manifest declares it: commands, shortcuts, scopes, events.

A manifest is the only place where Slack learns of commands and shortcuts, so the simulated one refuses what
it does not declare. https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from platforms.core import Json

EVENT_SCOPES: dict[str, str] = {
    "app_home_opened": "",
    "app_mention": "app_mentions:read",
    "app_uninstalled": "",
    "assistant_thread_context_changed": "assistant:write",
    "assistant_thread_started": "assistant:write",
    "channel_archive": "channels:read",
    "channel_deleted": "channels:read",
    "channel_left": "channels:read",
    "channel_rename": "channels:read",
    "channel_unarchive": "channels:read",
    "group_left": "groups:read",
    "member_joined_channel": "channels:read",
    "member_left_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "tokens_revoked": "",
}
"""What an app may subscribe to, and the scope that it needs for that."""

SCOPES = frozenset(
    {
        *("app_mentions:read", "assistant:write", "chat:write", "chat:write.public", "commands"),
        *("channels:history", "channels:join", "channels:read", "files:read", "files:write"),
        *("groups:history", "groups:read", "im:history", "im:read", "im:write"),
        *("mpim:history", "mpim:read", "mpim:write", "reactions:read", "reactions:write", "team:read", "users:read"),
    }
)
"""The bot scopes that the simulated Slack knows."""

NAME_LIMIT, DESCRIPTION_LIMIT, BOT_NAME_LIMIT = 35, 140, 80
COMMANDS_LIMIT, COMMAND_LIMIT, COMMAND_DESCRIPTION_LIMIT, HINT_LIMIT = 50, 32, 2000, 1000
SHORTCUTS_LIMIT, SHORTCUT_NAME_LIMIT, SHORTCUT_DESCRIPTION_LIMIT, CALLBACK_LIMIT = 10, 24, 150, 255

COMMANDS = ("replay", "fork", "undo", "redo", "reset", "web", "help")

EXAMPLE: Json = {
    "display_information": {"name": "Turnback"},
    "features": {
        "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
        "assistant_view": {"assistant_description": "Time travel"},
        "bot_user": {"display_name": "turnback", "always_online": True},
        "slash_commands": [{"command": f"/{word}", "description": word, "should_escape": False} for word in COMMANDS],
        "shortcuts": [
            {"name": "Rewind to here", "type": "message", "callback_id": "rewind", "description": "Restore"},
            {"name": "Fork from here", "type": "message", "callback_id": "fork", "description": "Fork"},
        ],
    },
    "oauth_config": {"scopes": {"bot": sorted(SCOPES - {"chat:write.public"})}},
    "settings": {
        "event_subscriptions": {"bot_events": sorted(EVENT_SCOPES)},
        "interactivity": {"is_enabled": True},
        "socket_mode_enabled": True,
    },
}
"""An app that has all that this project may use, for tests of the simulated Slack itself."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What an installed app was granted and is told."""

    name: str
    username: str
    commands: Mapping[str, bool]
    """Each slash command, and whether mentions, channels and links in its text come as `<...>`."""
    shortcuts: Mapping[str, str]
    """Each callback_id, and its type: "message" or "global"."""
    scopes: frozenset[str]
    events: frozenset[str]
    interactive: bool
    direct: bool
    """Whether people may write to it directly (the messages tab)."""


def read_manifest(raw: Json) -> Manifest:
    """Raises ValueError when Slack would refuse it."""
    if problems := list(manifest_problems(raw)):
        raise ValueError("; ".join(problems))
    features, settings = raw.get("features", {}), raw.get("settings", {})
    home = features.get("app_home", {})
    return Manifest(
        name=raw["display_information"]["name"],
        username=features["bot_user"]["display_name"],
        commands={each["command"]: bool(each.get("should_escape")) for each in features.get("slash_commands", [])},
        shortcuts={each["callback_id"]: each["type"] for each in features.get("shortcuts", [])},
        scopes=frozenset(raw["oauth_config"]["scopes"]["bot"]),
        events=frozenset(settings.get("event_subscriptions", {}).get("bot_events", [])),
        interactive=bool(settings.get("interactivity", {}).get("is_enabled")),
        direct=bool(home.get("messages_tab_enabled")) and not home.get("messages_tab_read_only_enabled"),
    )


def manifest_problems(raw: Json) -> list[str]:
    """Why Slack would not take this manifest, one sentence each."""
    features, settings = raw.get("features", {}), raw.get("settings", {})
    scopes = set(raw.get("oauth_config", {}).get("scopes", {}).get("bot", []))
    commands, shortcuts = features.get("slash_commands", []), features.get("shortcuts", [])
    socket_mode = bool(settings.get("socket_mode_enabled"))
    problems = _display_problems(raw.get("display_information", {}), features.get("bot_user", {}))
    problems += _many("slash commands", commands, COMMANDS_LIMIT) + _many("shortcuts", shortcuts, SHORTCUTS_LIMIT)
    for command in commands:
        problems += _command_problems(command, socket_mode=socket_mode)
    for shortcut in shortcuts:
        problems += _shortcut_problems(shortcut)
    problems += _twice("command", [each.get("command") for each in commands])
    problems += _twice("callback_id", [each.get("callback_id") for each in shortcuts])
    if commands and "commands" not in scopes:
        problems.append("slash commands and shortcuts need the scope commands")
    if shortcuts and not settings.get("interactivity", {}).get("is_enabled"):
        problems.append("shortcuts need interactivity")
    problems += [f"unknown scope {scope}" for scope in sorted(scopes - SCOPES)]
    return problems + _event_problems(settings.get("event_subscriptions", {}).get("bot_events", []), scopes)


def _display_problems(display: Json, bot: Json) -> list[str]:
    return [
        *_length("display_information.name", display.get("name"), NAME_LIMIT),
        *_length("display_information.description", display.get("description", "-"), DESCRIPTION_LIMIT),
        *_length("features.bot_user.display_name", bot.get("display_name"), BOT_NAME_LIMIT),
    ]


def _command_problems(command: Json, *, socket_mode: bool) -> list[str]:
    name = str(command.get("command"))
    problems = _length(f"the description of {name}", command.get("description"), COMMAND_DESCRIPTION_LIMIT)
    problems += _length(f"the usage hint of {name}", command.get("usage_hint", "-"), HINT_LIMIT)
    if not re.fullmatch(rf"/[a-z0-9_-]{{1,{COMMAND_LIMIT - 1}}}", name):
        problems.append(f"{name!r} is no name of a slash command")
    if not socket_mode and not str(command.get("url", "")).startswith("https://"):
        problems.append(f"{name} needs a url without Socket Mode")
    return problems


def _shortcut_problems(shortcut: Json) -> list[str]:
    problems = _length("a shortcut's name", shortcut.get("name"), SHORTCUT_NAME_LIMIT)
    problems += _length("a shortcut's description", shortcut.get("description"), SHORTCUT_DESCRIPTION_LIMIT)
    problems += _length("a shortcut's callback_id", shortcut.get("callback_id"), CALLBACK_LIMIT)
    if shortcut.get("type") not in ("message", "global"):
        problems.append(f"a shortcut of the type {shortcut.get('type')!r}")
    return problems


def _event_problems(events: list[str], scopes: set[str]) -> list[str]:
    problems = [f"unknown event {event}" for event in events if event not in EVENT_SCOPES]
    needed = {event: EVENT_SCOPES.get(event, "") for event in events}
    return problems + [
        f"{event} needs the scope {scope}" for event, scope in needed.items() if scope not in scopes | {""}
    ]


def _length(what: str, value: object, limit: int) -> list[str]:
    if isinstance(value, str) and 0 < len(value) <= limit:
        return []
    return [f"{what} must have 1 to {limit} characters"]


def _many(what: str, values: list[Any], limit: int) -> list[str]:
    return [f"over {limit} {what}"] if len(values) > limit else []


def _twice(what: str, names: list[Any]) -> list[str]:
    return [f"the {what} {name} twice" for name in sorted({str(name) for name in names if names.count(name) > 1})]
