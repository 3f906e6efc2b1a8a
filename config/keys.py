"""Each key on its own: what it may hold, in words, and how its values are read and shown."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import orjson
from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from turnback.config.sections import MAX_WHOLE, Section, Settings

HIDDEN = "(hidden)"

NOT_YET = frozenset({"storage.url"})
"""Keys whose feature is not built yet: refused when set."""

BUILT_IN_AGENTS = ("demo", "pydantic-ai")
"""Agents that can be named beside `module:attribute`."""

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting: `section.name`, with its field."""

    section: str
    name: str
    field: FieldInfo

    def __str__(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def type(self) -> Any:
        """The type without `| None`."""
        return next((t for t in _union(self.field.annotation) if t is not types.NoneType), str)

    @property
    def secret(self) -> bool:
        return self.type is SecretStr

    @property
    def default(self) -> Any:
        value = self.field.get_default(call_default_factory=True)
        return None if value is PydanticUndefined else value

    @property
    def help(self) -> str:
        return self.field.description or ""

    @property
    def built(self) -> bool:
        """Whether the feature behind it exists in this version."""
        return str(self) not in NOT_YET

    def read(self, text: str) -> Any:
        """What `text`, from the environment or a chat, means; text that means nothing stays as it is."""
        text = text.strip()
        if self.type is bool and text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        if self.type is int and re.fullmatch(r"[+-]?\d{1,20}", text):
            return int(text)
        if self.type is float and re.fullmatch(r"[+-]?\d{1,20}(\.\d{1,20})?", text):
            return float(text)
        if get_origin(self.type) is list:
            return _read_list(text)
        return text

    def show(self, value: Any) -> Any:
        """The value as JSON, with secrets and passwords in addresses hidden."""
        if value is None:
            return None
        if self.secret:
            return HIDDEN
        return _without_password(value)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; empty where it is no choice."""
        if str(self) == "agent.kind":
            return BUILT_IN_AGENTS
        return tuple(map(str, get_args(self.type))) if get_origin(self.type) is Literal else ()

    def allowed(self) -> str:
        """What it may hold, in words."""
        if str(self) == "agent.kind":
            return "demo, pydantic-ai, or module:attribute"
        if str(self) == "access.allow":
            return "a list such as telegram:*, telegram:456, discord:guild:123, slack:T0123"
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(map(str, get_args(self.type)))
        if self.type in (int, float):
            return _allowed_number(self)
        if "http" in str(self.field.metadata) + str(self.field.annotation):
            return "an address that begins with http:// or https://"
        if self.type is bool:
            return "true or false"
        return "a list of texts" if get_origin(self.type) is list else "a text that is not empty"


def keys() -> Iterator[Key]:
    """Every key, in the order of SPEC."""
    for section, outer in Settings.model_fields.items():
        model = outer.annotation
        assert isinstance(model, type)
        assert issubclass(model, Section)
        for name, field in model.model_fields.items():
            yield Key(section=section, name=name, field=field)


KEYS = {str(key): key for key in keys()}


def nearest(name: str) -> str | None:
    """The key that somebody who wrote `name` may have meant."""
    found = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.6)
    return found[0] if found else None


def _union(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(_plain(t) for t in get_args(annotation))
    return (_plain(annotation),)


def _plain(annotation: Any) -> Any:
    """The type inside `Annotated`."""
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _limits(key: Key) -> Iterator[Any]:
    yield from key.field.metadata
    for part in get_args(key.field.annotation):
        for meta in getattr(part, "__metadata__", ()):
            yield from meta.metadata if isinstance(meta, FieldInfo) else (meta,)


def _allowed_number(key: Key) -> str:
    low = next((m.ge if isinstance(m, Ge) else m.gt for m in _limits(key) if isinstance(m, Ge | Gt)), 0)
    high = next((m.le for m in _limits(key) if isinstance(m, Le)), MAX_WHOLE)
    kind = "a whole number" if key.type is int else "a number"
    above = "above" if any(isinstance(m, Gt) for m in _limits(key)) else "from"
    if high == MAX_WHOLE:
        return f"{kind} {above} {low}" if above == "above" else f"{kind} of at least {low}"
    return f"{kind} {above} {low} {'up ' if above == 'above' else ''}to {high}"


def _read_list(text: str) -> Any:
    if text.startswith("["):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return [part.strip() for part in text.split(",") if part.strip()]


def _without_password(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"(?<=://)[^/@\s]+@", f"{HIDDEN}@", value)
    return value
