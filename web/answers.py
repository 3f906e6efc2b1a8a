"""JSON on its way out: any state that an agent keeps, as bytes that a strict parser accepts.

Answers do not pass through their pydantic models: a state may hold integers of any size, nesting
that pydantic refuses, and megabytes. The models in `schemas` describe them for OpenAPI, and tests
hold the two together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson
from starlette.responses import Response

from turnback.core.text import well_formed

_SURROGATE = re.compile("[\ud800-\udfff]")


class Answer(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """`content` as JSON."""
        return dumps(content)


class StateAnswer(Answer):
    """A JSON answer with a `state`, which is what was saved to the last character."""

    def render(self, content: Any) -> bytes:
        """`content` as JSON."""
        rest = dumps({key: value for key, value in content.items() if key != "state"})
        return rest[:-1] + b',"state":' + _encode(content["state"], _escape) + b"}"


def dumps(value: Any) -> bytes:
    """JSON values as JSON; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    return _encode(value, well_formed)


def _encode(value: Any, mend: Callable[[str], str]) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # Lone surrogates, integers over 64 bits, or deeper than orjson goes.
        return mend(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))).encode()


def _escape(text: str) -> str:
    return _SURROGATE.sub(lambda cut: f"\\u{ord(cut[0]):04x}", text)
