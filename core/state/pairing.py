"""Tool calls and their results, side by side as strict providers want them.

OpenAI wants each call's result among the messages right behind it, Anthropic and pydantic-ai all results
of a message at the beginning of the next one. A result without a call is refused by all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnback.core.state.dialects import (
    Call,
    Form,
    calls_of,
    form_of,
    is_parted,
    is_result_part,
    items,
    result_ids,
    role_of,
    type_of,
    unwrapped,
)

NOT_RUN = "[not run: the conversation was taken back to this point before this tool call had a result]"


def is_paired(messages: Sequence[Any]) -> bool:
    """Whether every call has its result in its place, and every result its call."""
    at, end = 0, len(messages)
    while at < end:
        message = messages[at]
        at += 1
        if _is_plain_text(message):
            continue
        calls = calls_of(message)
        if calls:
            length = _run(messages, at, calls)
            if length is None:
                return False
            at += length
        elif result_ids(message):
            return False
    return True


def paired(messages: Sequence[Any]) -> Sequence[Any]:
    """The messages with all results in their places: the same object if they are."""
    return messages if is_paired(messages) else _Repair(messages).run()


def is_suspended(message: Any) -> bool:
    """Whether this is a pydantic-ai response that its provider would go on with by itself."""
    return isinstance(message, dict) and is_parted(message) and message.get("state") == "suspended"


def _is_plain_text(message: Any) -> bool:
    """A message that is only text, told at a glance: most are."""
    return (
        type(message) is dict
        and type(message.get("content")) is str
        and message.get("role") in ("user", "assistant", "system")
        and not message.get("tool_calls")
        and "function_call" not in message
        and "additional_kwargs" not in message
    )


def _run(messages: Sequence[Any], at: int, calls: Sequence[Call]) -> int | None:
    """How many messages from `at` on answer exactly these calls, each once; None if they do not."""
    wanted = [call.id for call in calls]
    single = at < len(messages) and _carries_many(messages[at])
    found: list[str | None] = []
    length = 0
    while len(found) < len(wanted) and at + length < len(messages):
        ids = result_ids(messages[at + length])
        if not ids or (single and length):
            break
        found.extend(ids)
        length += 1
    if sorted(map(str, found)) != sorted(map(str, wanted)):
        return None
    return length if not single or _results_first(messages[at]) else None


def _carries_many(message: Any) -> bool:
    return isinstance(message, dict) and (is_parted(message) or role_of(unwrapped(message)) != "tool")


def _results_first(message: Mapping[str, Any]) -> bool:
    flags = [_is_result(piece) for piece in _pieces(message)]
    return flags == sorted(flags, reverse=True)


def _pieces(message: Mapping[str, Any]) -> Sequence[Any]:
    return items(message["parts"] if is_parted(message) else unwrapped(message).get("content"))


def _is_result(piece: Any) -> bool:
    return is_result_part(piece) or type_of(piece) == "tool_result"


@dataclass(slots=True)
class _Slot:
    """A call, and the result found for it: a whole message, or one of its pieces."""

    call: Call
    result: Any = None
    source: int | None = None


@dataclass(slots=True)
class _Repair:
    """One history on the way to being paired."""

    messages: Sequence[Any]
    slots: dict[int, list[_Slot]] = field(default_factory=dict)
    out: list[Any] = field(default_factory=list)

    def run(self) -> list[Any]:
        self._assign()
        at = 0
        while at < len(self.messages):
            message = self.messages[at]
            at += 1
            slots = self.slots.get(at - 1)
            if slots:
                self.out.append(message)
                at += self._answer(message, slots, at)
            elif result_ids(message):
                self._keep_rest(message)
            else:
                self.out.append(message)
        return self.out

    def _answer(self, message: dict[str, Any], slots: list[_Slot], at: int) -> int:
        """Put the results behind the calls; how many messages from `at` on are done with."""
        length = _run(self.messages, at, [slot.call for slot in slots])
        if length is not None and all(slot.source in range(at, at + length) for slot in slots):
            self.out.extend(self.messages[at : at + length])
            return length
        self.out.extend(_answers(message, slots, self.messages))
        return 0

    def _assign(self) -> None:
        """Give each call its result: the first real one behind it, before its id is used again."""
        waiting: dict[str, _Slot] = {}
        nameless: deque[_Slot] = deque()
        for index, message in enumerate(self.messages):
            calls = calls_of(message)
            if calls:
                slots = [_Slot(call) for call in calls]
                self.slots[index] = slots
                waiting.update({slot.call.id: slot for slot in slots if slot.call.id is not None})
                nameless.extend(slot for slot in slots if slot.call.id is None)
                continue
            for call_id, result in _results(message):
                slot = waiting.get(call_id) if call_id is not None else (nameless.popleft() if nameless else None)
                if slot and (slot.source is None or _is_marker(slot.result)):
                    slot.result, slot.source = result, index

    def _keep_rest(self, message: dict[str, Any]) -> None:
        """A message of results, without them: they are where they belong, or have no call."""
        if not _carries_many(message):
            return
        rest = [piece for piece in _pieces(message) if not _is_result(piece)]
        if not rest:
            return
        last = self.out[-1] if self.out else None
        if (
            isinstance(last, dict)
            and result_ids(last)
            and is_parted(last) == is_parted(message)
            and _carries_many(last)
        ):
            self.out[-1] = _with_pieces(last, [*_pieces(last), *rest])
        else:
            self.out.append(_with_pieces(message, rest))


def _results(message: Any) -> list[tuple[str | None, Any]]:
    ids = result_ids(message)
    if not ids:
        return []
    if not _carries_many(message):
        return [(ids[0], message)]
    return list(zip(ids, [piece for piece in _pieces(message) if _is_result(piece)], strict=True))


def _is_marker(result: Any) -> bool:
    return isinstance(result, dict) and unwrapped(result).get("content") == NOT_RUN


def _answers(message: dict[str, Any], slots: list[_Slot], messages: Sequence[Any]) -> list[Any]:
    """The messages to stand behind the one that made the calls."""
    form = form_of(message)
    results = [_marker(form, message, slot.call) if slot.source is None else slot.result for slot in slots]
    if form in ("openai", "langchain"):
        return results
    source = next((slot.source for slot in slots if slot.source is not None), None)
    carrier = messages[source] if source is not None else _carrier(form)
    return [_with_pieces(carrier, results)]


def _carrier(form: Form) -> dict[str, Any]:
    return {"parts": [], "kind": "request"} if form == "pydantic-ai" else {"role": "user", "content": []}


def _with_pieces(message: dict[str, Any], pieces: list[Any]) -> dict[str, Any]:
    return {**message, ("parts" if is_parted(message) else "content"): pieces}


def _marker(form: Form, message: dict[str, Any], call: Call) -> dict[str, Any]:
    if form == "pydantic-ai":
        part = {
            "tool_name": call.name,
            "content": NOT_RUN,
            "tool_call_id": call.id,
            "outcome": "interrupted",
            "part_kind": "tool-return",
        }
        return {**part, "timestamp": message["timestamp"]} if message.get("timestamp") else part
    if form == "anthropic":
        return {"type": "tool_result", "tool_use_id": call.id, "content": NOT_RUN, "is_error": True}
    if form == "openai":
        return _openai_marker(call, legacy="function_call" in message)
    inner = {"type": "tool", "content": NOT_RUN, "tool_call_id": call.id, "name": call.name, "status": "error"}
    if "lc" in message:
        return {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": inner,
        }
    return {"type": "tool", "data": inner} if isinstance(message.get("data"), dict) else inner


def _openai_marker(call: Call, *, legacy: bool) -> dict[str, Any]:
    if call.id is not None:
        return {"role": "tool", "tool_call_id": call.id, "content": NOT_RUN}
    return {"role": "function" if legacy else "tool", "name": call.name, "content": NOT_RUN}
