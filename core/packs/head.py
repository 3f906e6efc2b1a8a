"""The keys of a state and its small values as one text, since each stretch of a log has its price.

Nearly every step changes a counter or two: writing all small values again, one behind the other, costs less
than finding out which ones changed, and packs compress what repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from turnback.core.state import codec

OWN_FROM = 512
"""Values of this many bytes are kept on their own."""

_END = b"\0"
"""Stands in no JSON text."""

Fields = Mapping[str, bytes]
"""Values by key, JSON each."""


def write(fields: Fields) -> tuple[bytes, dict[str, bytes]]:
    """The text, and the values that are not in it."""
    own: dict[str, bytes] = {}
    parts = [codec.dumps(list(fields))]
    for key, value in fields.items():
        if len(value) < OWN_FROM:
            parts.append(value)
        else:
            parts.append(b"")
            own[key] = value
    return _END.join(parts), own


def read(text: bytes, own: Iterator[bytes]) -> dict[str, bytes]:
    """What was written; `own` gives the values that are not in the text. Raises ValueError on a damaged one."""
    keys, *values = text.split(_END)
    named = zip(cast("list[str]", codec.loads(keys)), values, strict=True)
    return {key: value or next(own) for key, value in named}
