"""Small pieces of what is said: times, sizes, steps and their marks. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from turnback.bots.words import printable
from turnback.core.answers import Rewound
from turnback.core.models import Effect, Step, StepId, StepKind, StepView

SHORT_ID = 8
"""Characters of an id that are shown."""

_KIB, _MIB = 1024, 1024 * 1024


def age(then: datetime, now: datetime) -> str:
    """`just now`, `5 min`, `3 h`, `2 d`; a time ahead of the clock counts as now."""
    seconds = int((now - then).total_seconds())
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "just now"


def moment(at: datetime) -> str:
    """`3 May 2026, 14:05 UTC`."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def size(count: int) -> str:
    """`512 B`, `12 KB`, `3.4 MB`."""
    if count < _KIB:
        return f"{count} B"
    return f"{round(count / _KIB)} KB" if count < _MIB else f"{count / _MIB:.1f} MB"


def short(step_id: str) -> str:
    """An id as shown."""
    return step_id[:SHORT_ID]


def where(step: Step) -> str:
    """`turn 2, step 1`."""
    return f"turn {step.turn_index}, step {step.number}"


def where_and_id(step: Step) -> str:
    """`turn 2, step 1 (3fa9c1d2)`."""
    return f"{where(step)} ({short(step.id)})"


def did(step: Step) -> str:
    """What a step did: the tools it called, or `answered`."""
    if step.kind is StepKind.RESCUE:
        return "files saved before going back"
    return printable(", ".join(step.tools), 60) or "answered"


def step_line(view: StepView, now: datetime, *, aside: bool = False) -> str:
    """A step on one line: where it is, its id, what it did, its age, model and marks."""
    step = view.step
    before = "→ " if view.head else "↯ " if aside and not view.on_path else ""
    marks = [
        mark
        for mark, shown in (
            ("⎇", view.has_branches),
            ("✂", step.truncated),
            (f"★ {printable(step.label or '', 32)}", step.label is not None),
        )
        if shown
    ]
    parts = [where(step), short(step.id), did(step), age(step.created_at, now), printable(step.model or "", 30)]
    return f"{before}{' · '.join(part for part in [*parts, *marks] if part)}"


def effect_line(effect: Effect) -> str:
    """A tool call whose effect stays: `turn 3, step 1: write_file {"path":"a.txt"}`."""
    args = "" if effect.args in (None, {}, "", []) else " " + printable(value_text(effect.args), 80)
    return f"turn {effect.turn_index}, step {effect.number}: {printable(effect.tool, 40)}{args}"


def effects_text(rewound: Rewound) -> str:
    """What going back does not undo."""
    if not rewound.effects_total:
        return ""
    more = rewound.effects_total - len(rewound.effects)
    lines = ["This stays done, going back does not undo it:", *(f"- {effect_line(e)}" for e in rewound.effects)]
    return "\n".join([*lines, f"- and {more} more"] if more > 0 else lines)


def stands(rewound: Rewound) -> str:
    """Where a thread stands after a move, and what was asked there."""
    if rewound.turn_index == 0 and rewound.head is None:
        return "the beginning"
    spot = where_and_id(rewound.head.step) if rewound.head else f"turn {rewound.turn_index}"
    summary = printable(rewound.summary, 80)
    return f"{spot}: {summary}" if summary else spot


def telling_apart(ids: Sequence[str]) -> dict[str, str]:
    """Each id cut to the 8 characters that are shown, or as many more as tell them apart."""
    length = SHORT_ID
    while len({i[:length] for i in ids}) < len(set(ids)):
        length += 1
    return {i: i[:length] for i in ids}


def head_id(view: StepView | None) -> StepId | None:
    """A step's id, if there is one."""
    return view.step.id if view else None


def value_text(value: object) -> str:
    """A JSON value as text: a string as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return repr(value)
