"""Each setting as a form shows it: what kind of field it is, what it holds, and whether it can be changed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_origin

from turnback.config.keys import Key

Kind = Literal["switch", "choice", "number", "size", "list", "text", "prose", "secret"]

_PROSE = frozenset({"agent.system_prompt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One setting. Of a secret the values say only whether there is one.

    `live`: it takes effect at once; else after a restart. `locked` says why it cannot be changed here,
    `variable` is the environment variable that sets it.
    """

    key: str
    kind: Kind
    value: Any
    running: Any
    default: Any
    source: str
    choices: tuple[str, ...]
    allowed: str
    help: str
    live: bool
    restart_needed: bool
    locked: str | None
    variable: str


def kind_of(key: Key) -> Kind:
    """How a key is asked for; `size` is a number of bytes."""
    if key.secret:
        return "secret"
    if key.choices:
        return "choice"
    if key.type is bool:
        return "switch"
    if key.type in (int, float):
        return "size" if key.name.endswith("_bytes") else "number"
    if get_origin(key.type) is list:
        return "list"
    return "prose" if str(key) in _PROSE else "text"
