"""JSON for what orjson refuses: integers of any size, lone surrogates, nesting of any depth.

Writes without recursing, in ASCII, so that a lone surrogate survives as its escape. Python refuses to turn
integers of over 4,300 digits into text and back, since it needs time in the square of their length; here
they are halved until they are short, which is quick enough for any that a state has room for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, localcontext
from json.encoder import encode_basestring_ascii
from typing import Any

_SHORT = 4000
_PRINTABLE = 10**_SHORT
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def write(value: Any, *, sort_keys: bool = False) -> str:
    """Plain JSON values as compact text."""
    return _Writer(sort_keys).run(value)


def write_marked(value: Any) -> tuple[str, bool]:
    """The text, and whether it needs `read`: it holds an integer over 64 bits or a lone surrogate."""
    writer = _Writer(False)
    return writer.run(value), writer.exotic


def read(data: bytes) -> Any:
    """What `write` wrote, or any JSON text in UTF-8. Raises ValueError."""
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_int=_read_int)


class _Writer:
    def __init__(self, sort_keys: bool) -> None:
        self.exotic = False
        self._sort = sort_keys
        self._out: list[str] = []

    def run(self, value: Any) -> str:
        stack: list[tuple[str, Iterator[Any]]] = []
        self._value(value, stack)
        while stack:
            end, rest = stack[-1]
            for child in rest:
                key, item = child if end == "}" else (None, child)
                if self._out[-1] not in "[{":
                    self._out.append(",")
                if key is not None:
                    self._out.append(self._string(key) + ":")
                if self._value(item, stack):
                    break
            else:
                stack.pop()
                self._out.append(end)
        return "".join(self._out)

    def _value(self, value: Any, stack: list[tuple[str, Iterator[Any]]]) -> bool:
        """Writes it; True if it is a container, whose rest is on the stack now."""
        if isinstance(value, dict):
            items = sorted(value.items()) if self._sort else value.items()
            self._out.append("{")
            stack.append(("}", iter(items)))
            return True
        if isinstance(value, list | tuple):
            self._out.append("[")
            stack.append(("]", iter(value)))
            return True
        self._out.append(self._scalar(value))
        return False

    def _scalar(self, value: Any) -> str:
        if isinstance(value, str):
            return self._string(value)
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else "null"
        self.exotic = self.exotic or not -(2**63) <= value < 2**64
        return _digits(value)

    def _string(self, text: str) -> str:
        if not self.exotic and not text.isascii():
            self.exotic = _has_surrogate(text)
        return encode_basestring_ascii(text)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _digits(value: int) -> str:
    if -_PRINTABLE < value < _PRINTABLE:
        return str(value)
    with localcontext(_EXACT):
        return f"{'-' if value < 0 else ''}{_decimal(abs(value), {})}"


def _decimal(value: int, powers: dict[int, Decimal]) -> Decimal:
    """The number by the halves of its bits: decimal multiplies long numbers far faster than it converts them."""
    half = value.bit_length() // 2
    if half < _SHORT:
        return Decimal(value)
    high, low = value >> half, value & ((1 << half) - 1)
    return _decimal(high, powers) * _power(half, powers) + _decimal(low, powers)


def _power(exponent: int, powers: dict[int, Decimal]) -> Decimal:
    if exponent not in powers:
        if exponent <= _SHORT:
            powers[exponent] = Decimal(1 << exponent)
        else:
            powers[exponent] = _power(exponent // 2, powers) * _power(exponent - exponent // 2, powers)
    return powers[exponent]


def _read_int(text: str) -> int:
    if len(text) <= _SHORT:
        return int(text)
    if text.startswith("-"):
        return -_read_int(text[1:])
    half = len(text) // 2
    return int(_read_int(text[:-half]) * 10**half + _read_int(text[-half:]))
