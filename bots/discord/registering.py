"""Tells Discord of our commands: compares first, writes only what differs, and never removes anybody's.

Two processes of one application may both do this; the second one finds nothing to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord
from discord import app_commands

_KEYS = frozenset(
    {
        "name",
        "description",
        "options",
        "required",
        "autocomplete",
        "choices",
        "value",
        "min_value",
        "max_value",
        "min_length",
        "max_length",
        "contexts",
        "integration_types",
        "default_member_permissions",
        "nsfw",
    }
)
"""What makes a command what it is, beside its type; all else Discord adds."""

_CHAT_INPUT = 1


async def register(client: discord.Client, tree: app_commands.CommandTree[Any]) -> int:
    """Register all global commands of a tree that are not there as they are; answers how many were written."""
    app = client.application_id
    assert app is not None
    wanted = [command.to_dict(tree) for command in tree.get_commands()]
    there: Any = await client.http.get_global_commands(app)
    if not there:
        await client.http.bulk_upsert_global_commands(app, wanted)
        return len(wanted)
    known = {_name(command): _essence(command) for command in there}
    changed = [command for command in wanted if known.get(_name(command)) != _essence(command)]
    for command in changed:
        await client.http.upsert_global_command(app, command)  # type: ignore[arg-type]
    return len(changed)


def _name(command: Mapping[str, Any]) -> tuple[int, str]:
    return int(command.get("type") or _CHAT_INPUT), str(command["name"])


def _essence(value: Any) -> Any:
    """A command, or a part of one, without what says nothing; the order of options counts, that of contexts not."""
    if isinstance(value, Mapping):
        kept = {key: _essence(part) for key, part in value.items() if key in _KEYS or key == "type"}
        return {key: part for key, part in kept.items() if part not in (None, [], {}, False, "")}
    if isinstance(value, list):
        parts = [_essence(part) for part in value]
        return sorted(parts) if all(isinstance(part, int) for part in parts) else parts
    return value
