"""Any Python value as plain JSON values, by the rules that the documentation gives.

`convert` does one level, for orjson's `default` hook; `to_plain` does all levels without recursing, and
cuts what is nested too deep or contains itself.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from turnback.core.state import jsontext

MAX_DEPTH = 500
TOO_DEEP = "[cut: nested too deep]"
CYCLE = "[cut: contains itself]"

_PLAIN = frozenset({str, int, bool, type(None), float, list, tuple, dict})


def convert(value: Any) -> Any:
    """A value that is not plain JSON as one that is, or that is nearer to it.

    Raises whatever the value's own code raises.
    """
    for types, change in _CHANGES:
        if isinstance(value, types):
            return change(value)
    if is_record(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return {"$object": type(value).__name__}


def is_record(value: Any) -> bool:
    """Whether this is a pydantic model or a dataclass (not the class itself)."""
    return isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def string_keys(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """The mapping with keys that are strings. Strings keep their names, what collides is numbered."""
    taken = {str.__str__(key) for key in mapping if isinstance(key, str)}
    result: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(key, str):
            result[str.__str__(key)] = value
            continue
        name = unique = _key_text(key)
        number = 2
        while unique in taken:
            unique = f"{name} ({number})"
            number += 1
        taken.add(unique)
        result[unique] = value
    return result


def to_plain(value: Any, depth: int = 0) -> tuple[Any, bool]:
    """The value as plain JSON values, and whether anything was cut; `depth` is how deep it lies already."""
    walk = _Walk(depth)
    return walk.run(value), walk.cut


class _Frame:
    """A container on the way down: what is left of it, and what becomes of it."""

    __slots__ = ("fill", "identities", "rest", "result", "unordered")

    def __init__(self, source: Any, identities: tuple[int, ...], unordered: bool) -> None:
        self.identities = identities
        self.unordered = unordered
        self.result: Any
        self.fill: Callable[[Any, Any], None]
        if isinstance(source, dict):
            items: dict[str, Any] = source if all(type(key) is str for key in source) else string_keys(source)
            self.rest: Iterator[tuple[Any, Any]] = iter(list(items.items()))
            self.result = {}
            self.fill = self.result.__setitem__
        else:
            self.rest = iter([(None, item) for item in source])
            self.result = []
            self.fill = self._append

    def _append(self, _key: Any, value: Any) -> None:
        self.result.append(value)


class _Walk:
    """One walk down a value with a stack of its own."""

    def __init__(self, depth: int) -> None:
        self.cut = False
        self._base = depth
        self._stack: list[_Frame] = []
        self._above: set[int] = set()
        self._kept: list[Any] = []  # converted values stay alive, so that no id is used twice

    def run(self, value: Any) -> Any:
        done, result = self._open(value)
        while self._stack:
            frame = self._stack[-1]
            for key, child in frame.rest:
                done, made = self._open(child)
                frame.fill(key, made)
                if not done:
                    break
            else:
                self._close(frame)
        return result

    def _open(self, value: Any) -> tuple[bool, Any]:
        """(True, plain value), or (False, container that is filled next)."""
        identities: list[int] = []
        unordered = False
        while type(value) not in _PLAIN:
            if id(value) in self._above or id(value) in identities:
                return True, self._cut(CYCLE)
            identities.append(id(value))
            unordered = unordered or isinstance(value, set | frozenset)
            value = [*value] if isinstance(value, set | frozenset) else convert(value)
            self._kept.append(value)
        if type(value) is float:
            return True, value if math.isfinite(value) else None
        if not isinstance(value, dict | list | tuple):
            return True, value
        if id(value) in self._above:
            return True, self._cut(CYCLE)
        if self._base + len(self._stack) >= MAX_DEPTH:
            return True, self._cut(TOO_DEEP)
        frame = _Frame(value, (*identities, id(value)), unordered)
        self._above.update(frame.identities)
        self._stack.append(frame)
        return False, frame.result

    def _close(self, frame: _Frame) -> None:
        self._stack.pop()
        self._above.difference_update(frame.identities)
        if frame.unordered:
            frame.result[:] = _sorted_plain(frame.result)

    def _cut(self, marker: str) -> str:
        self.cut = True
        return marker


def _key_text(key: Any) -> str:
    value, _ = to_plain(key)
    return value if isinstance(value, str) else jsontext.write(value)


def _from_model(model: BaseModel) -> Any:
    try:
        return model.model_dump(warnings=False)
    except Exception:  # noqa: BLE001 - a model's own serialisers may raise anything; its fields are still there
        return {name: getattr(model, name, None) for name, info in type(model).model_fields.items() if not info.exclude}


def _from_set(values: Iterable[Any]) -> list[Any]:
    items = list(values)
    kinds = {type(item) for item in items}
    if kinds in ({str}, {int}):
        return sorted(items)
    plain, cut = to_plain(frozenset(items))
    if cut:
        raise ValueError("a set holds what must be cut")  # the walk from the top cuts it, and says so
    return list(plain)


def _sorted_plain(items: list[Any]) -> list[Any]:
    kinds = {type(item) for item in items}
    if kinds <= {str} or kinds <= {int, float}:
        return sorted(items)
    return sorted(items, key=jsontext.write)


def _from_bytes(value: bytes | bytearray | memoryview) -> dict[str, str]:
    return {"$bytes": base64.b64encode(bytes(value)).decode()}


_CHANGES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: value.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    ((datetime, date, time), lambda value: value.isoformat()),
    ((Decimal, PurePath, UUID), str),
    ((bytes, bytearray, memoryview), _from_bytes),
    ((set, frozenset), _from_set),
    (BaseModel, _from_model),
    (Mapping, string_keys),
    ((list, tuple, deque), list),
)
