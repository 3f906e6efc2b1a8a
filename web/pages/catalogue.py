"""The settings in people's words: groups, labels, units, and how values are written and read in a form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turnback.core.models import Surface
from turnback.web.parts import SettingField

RETENTION = "time_travel.retention_days"

_UNITS = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
_SIZE = re.compile(r"(?P<n>[0-9][0-9,]{0,19}(\.[0-9]{1,6})?)\s*(?P<unit>bytes?|[kmg]?i?b)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Settings that are shown together."""

    id: str
    title: str
    sections: tuple[str, ...]


GROUPS = (
    Group(id="time-travel", title="Time travel", sections=("time_travel",)),
    Group(id="agent", title="Agent", sections=("agent",)),
    Group(id="platforms", title="Platforms", sections=("telegram", "discord", "slack")),
    Group(id="access", title="Access", sections=("access",)),
    Group(id="chat", title="Chat", sections=("chat",)),
    Group(id="workspace", title="Workspace", sections=("workspace",)),
    Group(id="web", title="Web", sections=("web",)),
    Group(id="files", title="Data folder", sections=("storage",)),
)

PLATFORM_SECTIONS = {"telegram": Surface.TELEGRAM, "discord": Surface.DISCORD, "slack": Surface.SLACK}

_LABELS = {
    "time_travel.enabled": "Save steps",
    "time_travel.max_snapshots": "Steps kept per chat",
    "time_travel.max_global_snapshots": "Steps kept in all",
    "time_travel.max_snapshot_bytes": "Largest state kept whole",
    "time_travel.max_thread_bytes": "Most bytes per chat",
    "time_travel.max_total_bytes": "Most bytes in all",
    "time_travel.max_per_turn": "Steps kept per turn",
    "time_travel.auto_maintain": "Daily clean-up",
    "time_travel.retention_days": "Keep steps for",
    "time_travel.on_restore": "After a restore",
    "time_travel.lessons": "What was tried",
    "storage.path": "Data folder",
    "storage.url": "PostgreSQL",
    "storage.durability": "Durability",
    "agent.kind": "Kind",
    "agent.model": "Model",
    "agent.base_url": "Model server",
    "agent.api_key": "API key",
    "agent.system_prompt": "System prompt",
    "agent.permission_mode": "Ask before tools",
    "agent.approval_timeout": "Approval waits",
    "agent.max_context_tokens": "Longest conversation",
    "agent.shell": "Shell",
    "telegram.token": "Telegram token",
    "telegram.api_base_url": "Telegram Bot API server",
    "telegram.webhook_url": "Telegram webhook",
    "telegram.webhook_secret": "Telegram webhook secret",
    "discord.token": "Discord token",
    "discord.proxy": "Discord proxy",
    "slack.bot_token": "Slack bot token",
    "slack.app_token": "Slack app token",
    "slack.signing_secret": "Slack signing secret",
    "slack.api_base_url": "Slack API server",
    "web.host": "Address",
    "web.port": "Port",
    "web.public_url": "Public address",
    "access.admins": "Admins",
    "access.allow": "Who may use the bot",
    "access.group_policy": "Going back in groups",
    "access.approvers": "Who may approve",
    "workspace.enabled": "Snapshot files",
    "workspace.root": "Folder of the workspaces",
    "workspace.max_file_bytes": "Largest file",
    "workspace.max_store_bytes": "Most bytes per chat’s files",
    "chat.after_restore": "The bot’s later messages",
}

_SUFFIXES = {
    "time_travel.max_snapshots": "steps",
    "time_travel.max_global_snapshots": "steps",
    "time_travel.max_per_turn": "steps",
    "time_travel.retention_days": "days",
    "agent.approval_timeout": "seconds",
    "agent.max_context_tokens": "tokens",
}

_SPOKEN_UNITS = ("days", "seconds")

_HINTS = {
    "time_travel.retention_days": "Older steps go at the next clean-up.",
    "time_travel.max_snapshots": "The newest are kept, and labelled ones.",
    "time_travel.max_thread_bytes": "Oldest steps go first, labelled ones too.",
    "access.admins": "One a line: platform:user-id, or the name of an account.",
    "access.allow": "One a line: telegram:*, telegram:456, discord:guild:123, slack:T0123. None: nobody but admins.",
}


def label_of(key: str) -> str:
    """What a setting is called."""
    return _LABELS.get(key, key)


def hint_of(field: SettingField) -> str:
    """What it does, in a line."""
    return _HINTS.get(field.key, field.help)


def unit_of(key: str) -> str:
    """What its number counts."""
    return _SUFFIXES.get(key, "")


def written(field: SettingField, value: Any) -> str:
    """A value as it stands in its form field, and can be read back by `read`."""
    if value is None or field.kind == "secret":
        return ""
    if field.kind == "switch":
        return "on" if value else "off"
    if field.kind == "size":
        return size_text(int(value))
    if field.kind == "list":
        return "\n".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def spoken(field: SettingField, value: Any) -> str:
    """A value as it is told."""
    if field.kind == "secret":
        return "none" if value is None else "set"
    if value is None or value == "":
        return "none"
    if field.kind == "list":
        return ", ".join(map(str, value)) or "none"
    unit = unit_of(field.key)
    return f"{written(field, value)} {unit}" if unit in _SPOKEN_UNITS else written(field, value)


def size_text(n: int) -> str:
    """`32 MB` where that is exact, else `1000000 bytes`."""
    for unit in ("GB", "MB", "KB"):
        if n >= _UNITS[unit] and n % _UNITS[unit] == 0:
            return f"{n // _UNITS[unit]} {unit}"
    return f"{n} bytes"


def read(field: SettingField, text: str, parse: Callable[[str, str], Any]) -> Any:
    """What somebody means who wrote `text` there; None for an empty field. Text that means nothing stays."""
    text = text.replace("\r\n", "\n").strip()
    if field.kind == "list":
        return [part.strip() for part in re.split(r"[\n,]", text) if part.strip()]
    if not text:
        return None
    if field.kind == "size" and (found := _SIZE.fullmatch(text)):
        return _bytes(found)
    return text if field.kind in ("secret", "prose") else parse(field.key, text)


def must_be(field: SettingField, problem: str) -> str:
    """The problem in the words of the form."""
    if field.kind == "size" and problem.startswith("It must be"):
        return "It must be a size, such as 32 MB, of at least a byte."
    return problem


def _bytes(found: re.Match[str]) -> int:
    unit = (found["unit"] or "B").upper().removesuffix("YTES").removesuffix("YTE").replace("IB", "B")
    return round(float(found["n"].replace(",", "")) * _UNITS[unit])
