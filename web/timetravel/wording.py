"""What steps, moves and refusals read like on the page. Pure functions to plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnback.core.errors import Refusal
from turnback.core.models import Step, StepKind
from turnback.core.state import codec
from turnback.core.text import harmless

SHORT_ID = 8
"""Characters of an id that are shown."""

_TOOLS_NAMED = 4
_ARGUMENTS = ("path", "command", "cmd", "to", "channel", "url", "query", "text")
"""Arguments that say best what a call was about, best first."""

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
    "|[\U000e0000-\U000e007f]"
)

_IN_THE_WAY: Mapping[str, str] = {
    "turn_running": "Not now: a turn is running. Stop it or wait.",
    "approval_pending": "Not now: an approval is waiting.",
    "snapshot_truncated": "Too big to be kept whole: read or compare it, not restore.",
    "nothing_to_redo": "Nothing to bring back.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Why something was not done, or what was; with a way on. `alert`: nothing was done."""

    text: str
    alert: bool = True
    link: str = ""
    url: str = ""


def shown(text: str) -> str:
    """A text of several lines without what could steer a screen or turn a line around."""
    return harmless(text) if _STEERING.search(text) else text


def on_one_line(text: str, limit: int) -> str:
    """The same on one line, cut."""
    line = " ".join(shown(text[: limit * 8]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def where(step: Step) -> str:
    """`turn 2, step 1`."""
    return f"turn {step.turn_index}, step {step.number}"


def did(step: Step) -> tuple[Sequence[str], str]:
    """What a step did: the tools it called, and what is to be said beside them."""
    if step.kind is StepKind.RESCUE:
        return (), "files saved before going back"
    if not step.tools:
        return (), "answered"
    more = len(step.tools) - _TOOLS_NAMED
    return [on_one_line(tool, 40) for tool in step.tools[:_TOOLS_NAMED]], f"and {more} more" if more > 0 else ""


def main_argument(args: Any, limit: int = 80) -> str:
    """What a call was about, on one line."""
    if isinstance(args, Mapping):
        known = next((args[key] for key in _ARGUMENTS if key in args), None)
        args = known if known is not None else next(iter(args.values()), "")
    return on_one_line(value_text(args), limit) if args not in (None, "", {}, []) else ""


def value_text(value: Any) -> str:
    """A JSON value as text: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else codec.dumps(value).decode().strip()


def in_the_way(refusal: Refusal, chat_url: str) -> Note:
    """A refusal in the page's words, with what to do."""
    text = _IN_THE_WAY.get(refusal.code, refusal.detail)
    match refusal.code:
        case "approval_pending":
            return Note(text=text, link="Show it", url=chat_url)
        case "turn_running":
            return Note(text=text, link="Open chat", url=chat_url)
    return Note(text=text)
