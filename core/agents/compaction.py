"""Keeping a long conversation within what its model can read.

Whole turns are taken from the beginning and replaced by one summary; the newest turns stay as they
are, so a call is never parted from its result. Steps from before hold the originals.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from turnback.core.agents.dialect import NOTE, SUMMARY, is_user, mark_of, marked, parts_of
from turnback.core.state.messages import readable
from turnback.core.text import well_formed

BYTES_PER_TOKEN = 4
"""Of UTF-8: near enough for English, on the safe side for most scripts."""

_INSTRUCTIONS = (
    "You keep the memory of a conversation between a person and an assistant. Summarise it for the assistant: "
    "what the person wants, what was decided and why, names, numbers and paths, what was done with which result, "
    "what is still open. Write plain sentences. Do not answer the person."
)
_TITLE = "Summary of the earlier conversation:"
_MAX_LINE = 300

Summarise: TypeAlias = Callable[[Sequence[Any], int], Awaitable[tuple[str, RequestUsage]]]
"""Stored messages and a budget in tokens -> a summary, and what making it cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Messages that fit again, and what the summary cost."""

    messages: list[Any]
    usage: RequestUsage


async def compact(stored: Sequence[Any], limit: int, summarise: Summarise) -> Compacted | None:
    """Replace the oldest turns by a summary if the messages are over `limit` tokens; None: they fit."""
    cut = first_kept(stored, limit)
    if cut == 0:
        return None
    summary, usage = await summarise(stored[:cut], limit // 4)
    message = marked(SUMMARY, f"{_TITLE}\n{summary}")
    return Compacted(messages=[message, *stored[cut:]], usage=usage)


def first_kept(stored: Sequence[Any], limit: int) -> int:
    """Where the turns begin that stay; 0: all do.

    The newest turns that fill up to half of `limit`, at least one; none if one alone is over `limit`.
    """
    sizes = [tokens(item) for item in stored]
    if sum(sizes) <= limit:
        return 0
    starts = [i for i, item in enumerate(stored) if is_user(item)]
    starts = [i - 1 if i and mark_of(stored[i - 1]) == NOTE else i for i in starts]
    fitting = [i for i in starts if sum(sizes[i:]) <= limit // 2]
    if fitting:
        return fitting[0]
    return starts[-1] if starts and sum(sizes[starts[-1] :]) <= limit else len(stored)


def tokens(item: Any) -> int:
    """About how many tokens a stored message is."""
    parts = parts_of(item)
    if not parts:
        return _size(item) // BYTES_PER_TOKEN + 1
    return sum(_size(part.get("content")) + _size(part.get("args")) for part in parts) // BYTES_PER_TOKEN + 4


def by_model(model: Model) -> Summarise:
    """Summaries that the model itself writes; by plain code where it does not."""

    async def summarise(older: Sequence[Any], budget: int) -> tuple[str, RequestUsage]:
        text = "\n".join(_lines(older, clip=4000))[-budget * BYTES_PER_TOKEN * 3 :]
        request = ModelRequest(
            parts=[UserPromptPart(content=f"The conversation:\n\n{text}\n\nSummarise it in at most {budget} tokens.")],
            instructions=_INSTRUCTIONS,
        )
        try:
            response = await model_request(model, [request])
        except AgentRunError:
            return plain_summary(older, budget), RequestUsage()
        summary = well_formed((response.text or "").strip())[: budget * BYTES_PER_TOKEN]
        return summary or plain_summary(older, budget), response.usage

    return summarise


async def by_code(older: Sequence[Any], budget: int) -> tuple[str, RequestUsage]:
    """Summaries without a model."""
    return plain_summary(older, budget), RequestUsage()


def plain_summary(older: Sequence[Any], budget: int) -> str:
    """The messages as clipped lines: the newest that fit into `budget` tokens."""
    kept: list[str] = []
    room = budget * BYTES_PER_TOKEN
    for line in reversed(_lines(older, clip=min(_MAX_LINE, budget))):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept)) or "(it is too long to be shown)"


def _lines(messages: Sequence[Any], clip: int) -> list[str]:
    lines: list[str] = []
    for row in readable({"messages": list(messages)}):
        text = str(row.get("text") or "")
        if row.get("role") == "system":
            lines += [line for line in text.splitlines() if line != _TITLE]
            continue
        calls = [f"[{call['name']} {json.dumps(call['args'], default=str)}]" for call in row.get("tool_calls") or ()]
        result = row.get("tool_result")
        shown = [] if result is None else [result if isinstance(result, str) else json.dumps(result, default=str)]
        words = " ".join(" ".join([text, *calls, *shown]).split())
        if words:
            lines.append(f"{row.get('role')}: {well_formed(words)[:clip]}")
    return lines


def _size(value: Any) -> int:
    if value is None:
        return 0
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass"))
