"""Plain JSON values walked without recursing, since a state may be nested 500 levels deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def texts(value: Any) -> Iterator[str]:
    """Every string value in it (not the keys)."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def map_texts(value: Any, change: Callable[[str], str], *, keys: bool = True) -> Any:
    """A copy with every string changed, keys too if `keys`."""
    root: list[Any] = []
    stack: list[tuple[Any, Any]] = [([value], root)]

    def place(item: Any) -> Any:
        if isinstance(item, str):
            return change(item)
        if not isinstance(item, dict | list | tuple):
            return item
        made: Any = {} if isinstance(item, dict) else []
        stack.append((item, made))
        return made

    while stack:
        source, target = stack.pop()
        if isinstance(source, dict):
            for key, item in source.items():
                target[change(key) if keys else key] = place(item)
        else:
            target.extend([place(item) for item in source])
    return root[0]
