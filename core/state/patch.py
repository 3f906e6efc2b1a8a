"""RFC 6902 patches between plain JSON values: add, remove and replace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnback.core.state import codec

Operation = dict[str, Any]


def diff(a: Any, b: Any) -> list[Operation]:
    """The operations that turn `a` into `b`, to be applied in order."""
    operations: list[Operation] = []
    stack: list[tuple[str, Any, Any]] = [("", a, b)]
    while stack:
        path, old, new = stack.pop()
        if old is new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            _diff_objects(path, old, new, operations, stack)
        elif isinstance(old, list) and isinstance(new, list):
            _diff_lists(path, old, new, operations, stack)
        elif not _same(old, new):
            operations.append({"op": "replace", "path": path, "value": new})
    return operations


def pointer(path: str, key: str | int) -> str:
    """The JSON pointer (RFC 6901) of what `key` names below `path`."""
    return f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"


def _diff_objects(path: str, old: dict[str, Any], new: dict[str, Any], out: list[Operation], stack: list[Any]) -> None:
    out.extend({"op": "remove", "path": pointer(path, key)} for key in old if key not in new)
    out.extend(
        {"op": "add", "path": pointer(path, key), "value": value} for key, value in new.items() if key not in old
    )
    stack.extend((pointer(path, key), value, new[key]) for key, value in reversed(old.items()) if key in new)


def _diff_lists(path: str, old: list[Any], new: list[Any], out: list[Operation], stack: list[Any]) -> None:
    """Common beginning and end left out; between them elements are compared one by one, the rest comes or goes.

    The elements that are compared lie before those that come or go, so their places are the same in both.
    """
    start, end = _trimmed(old, new)
    inner_old, inner_new = len(old) - start - end, len(new) - start - end
    paired = min(inner_old, inner_new)
    at = start + paired
    out.extend({"op": "remove", "path": pointer(path, at)} for _ in range(inner_old - paired))
    out.extend(
        {"op": "add", "path": pointer(path, index), "value": new[index]} for index in range(at, start + inner_new)
    )
    stack.extend((pointer(path, index), old[index], new[index]) for index in reversed(range(start, at)))


def _trimmed(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and _same(old[start], new[start]):
        start += 1
    end = 0
    while end < shorter - start and _same(old[-1 - end], new[-1 - end]):
        end += 1
    return start, end


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 is not true, and NaN is null."""
    if type(a) is str and type(b) is str:
        return a == b
    return codec.canonical(a) == codec.canonical(b)
