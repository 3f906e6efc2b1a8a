"""Steps as they are offered while somebody types a command: quickly, from what lists know, not from states."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from turnback.bots.replies import Option
from turnback.bots.telling import age, short, where
from turnback.bots.words import plain, printable
from turnback.core.models import StepView


def offered(steps: Sequence[StepView], typed: str, now: datetime, most: int) -> list[Option]:
    """The newest steps that fit what was typed so far; an option's `command` is the step's id."""
    wanted = plain(typed.strip().removeprefix("@"))
    options = (_option(view, now) for view in reversed(steps))
    fitting = (o for o in options if wanted in plain(f"{o.label} {o.detail}") or o.command.startswith(wanted))
    return [option for option, _ in zip(fitting, range(most), strict=False)]


def _option(view: StepView, now: datetime) -> Option:
    step = view.step
    label = f"★ {printable(step.label, 32)}" if step.label else ""
    head = "→ " if view.head else "" if view.on_path else "↯ "
    parts = (f"{head}{where(step)}", short(step.id), age(step.created_at, now), label, printable(step.summary, 80))
    return Option(label=" · ".join(part for part in parts if part), detail=step.label or "", command=step.id)
