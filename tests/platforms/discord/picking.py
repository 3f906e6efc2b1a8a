"""How Discord's own client makes a command of what a person types and picks.

Words behind a command are read as `name:value` pairs, or else filled into its options in order, the last
text option taking what is left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from platforms.core import ClientRefused, Json
from platforms.discord import permissions
from platforms.discord.channels import Channel
from platforms.discord.command_rules import BOOLEAN, CHAT_INPUT, GROUP, INTEGER, NUMBER, STRING, SUBCOMMAND

if TYPE_CHECKING:
    from platforms.discord.people import User

TEXT_OPTION_LIMIT = 6000
_KINDS: dict[int, Any] = {STRING: str, INTEGER: int, NUMBER: float, BOOLEAN: lambda v: str(v).lower() == "true"}


@dataclass(frozen=True, kw_only=True)
class Picked:
    """A command with the options that belong to what was typed."""

    command: Json
    chain: list[Json]
    """The sub-command group and sub-command."""
    given: Json = field(default_factory=dict)

    @property
    def specs(self) -> list[Json]:
        specs: list[Json] = (self.chain[-1] if self.chain else self.command).get("options") or []
        return specs

    @property
    def name(self) -> str:
        return " ".join(str(part["name"]) for part in (self.command, *self.chain))

    def data(self, *, focus: str = "") -> Json:
        """The data of the interaction; with `focus` that of an autocomplete, which may lack options."""
        if extra := self.given.keys() - {spec["name"] for spec in self.specs}:
            raise ClientRefused(f"/{self.name} has no options {sorted(extra)}: {[s['name'] for s in self.specs]}")
        values: list[Json] = []
        for spec in self.specs:
            name = spec["name"]
            if name in self.given:
                value = self.given[name] if focus else _coerced(spec, self.given[name])
                values.append({"name": name, "type": spec["type"], "value": value})
                if name == focus:
                    values[-1]["focused"] = True
            elif spec.get("required") and not focus:
                raise ClientRefused(f"/{self.name} needs the option {name!r}")
        for part in reversed(self.chain):
            values = [{"name": part["name"], "type": part["type"], "options": values}]
        return {**_head(self.command), "options": values}


def offered(user: User, channel: Channel, kind: int) -> list[Json]:
    """The commands of a kind that the client shows somebody in a channel."""
    guild = channel.guild
    may = permissions.has(channel.permissions_of(user), "use_application_commands")
    if guild is not None and not (may and guild.has_bot):
        return []
    commands = [*(guild.commands if guild else []), *channel.scene.commands]
    return [c for c in commands if c["type"] == kind and _is_here(c, user, channel)]


def pick(user: User, channel: Channel, text: str, given: Json) -> Picked:
    """Find the command that `text` begins with, and read the rest of it."""
    name, _, rest = text.removeprefix("/").strip().partition(" ")
    commands = {command["name"]: command for command in reversed(offered(user, channel, CHAT_INPUT))}
    if name not in commands:
        raise ClientRefused(f"no /{name} in {channel}; there are {sorted(commands)}")
    specs, chain = commands[name].get("options") or [], []
    while specs and specs[0]["type"] in (SUBCOMMAND, GROUP):
        word, _, rest = rest.strip().partition(" ")
        part = next((spec for spec in specs if spec["name"] == word), None)
        if part is None:
            raise ClientRefused(f"/{name} has no {word!r}: {[spec['name'] for spec in specs]}")
        chain.append(part)
        specs = part.get("options") or []
    return Picked(command=commands[name], chain=chain, given=read_options(specs, rest.strip()) | given)


def pick_menu(user: User, channel: Channel, kind: int, name: str) -> Json:
    """The data of a context menu's command, without its target."""
    commands = {command["name"]: command for command in offered(user, channel, kind)}
    if name not in commands:
        raise ClientRefused(f"no {name!r} in the menu; there are {sorted(commands)}")
    return _head(commands[name])


def _head(command: Json) -> Json:
    head = {"id": command["id"], "name": command["name"], "type": command["type"]}
    return head | ({"guild_id": command["guild_id"]} if "guild_id" in command else {})


def _is_here(command: Json, user: User, channel: Channel) -> bool:
    contexts = command.get("contexts")
    if channel.guild is None:
        return 1 in contexts if contexts is not None else bool(command.get("dm_permission", True))
    needed = command.get("default_member_permissions")
    if needed is not None:
        have = channel.permissions_of(user)
        if have & int(needed) != int(needed) or (int(needed) == 0 and have != permissions.ALL):
            return False
    return contexts is None or 0 in contexts


def read_options(specs: list[Json], rest: str) -> Json:
    """What is typed behind a command with these options."""
    names = [spec["name"] for spec in specs]
    if not rest:
        return {}
    if not names:
        raise ClientRefused(f"there is no option for {rest!r}")
    found = re.split(rf"(?:^|\s)({'|'.join(map(re.escape, names))}):\s*", rest)
    if len(found) > 1:
        if found[0].strip():
            raise ClientRefused(f"text outside of the options: {found[0]!r}")
        return dict(zip(found[1::2], (value.strip() for value in found[2::2]), strict=True))
    words = rest.split(maxsplit=len(names) - 1)
    return dict(zip(names, words, strict=False))


def _coerced(spec: Json, value: Any) -> Any:
    name, kind = spec["name"], spec["type"]
    if kind not in _KINDS:
        raise ClientRefused(f"options of type {kind} are not simulated")
    try:
        value = _KINDS[kind](value)
    except ValueError:
        raise ClientRefused(f"{name!r} takes a number, not {value!r}") from None
    if choices := spec.get("choices"):
        match = [choice["value"] for choice in choices if value in (choice["value"], choice["name"])]
        if not match:
            raise ClientRefused(f"{value!r} is no choice of {name!r}")
        value = match[0]
    if kind == STRING:
        low, high, size = spec.get("min_length"), spec.get("max_length", TEXT_OPTION_LIMIT), len(value)
    else:
        low, high, size = spec.get("min_value"), spec.get("max_value"), value
    if (low is not None and size < low) or (high is not None and size > high):
        raise ClientRefused(f"{name!r} is out of range: {value!r}")
    return value
