"""What a restore would mean, before it happens: what is set aside, what comes back, what stays done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnback.core.answers import Listing, Preview, Rewound
from turnback.core.errors import Refusal
from turnback.core.models import Effect, StepId, StepView, TurnView
from turnback.core.text import counted
from turnback.web.timetravel.wording import Note, in_the_way, main_argument, on_one_line, where

_TURNS_NAMED, _CALLS_NAMED = 3, 4

_NOUNS = {
    "run_command": ("command stays done", "commands stay done"),
    "write_file": ("file change stays", "file changes stay"),
    "append_file": ("file change stays", "file changes stay"),
    "delete_file": ("file deletion stays", "file deletions stay"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """One line: how many, of what, and which. `calls` are set as code; `stays`: going back does not undo it."""

    number: int
    what: str
    detail: str = ""
    calls: tuple[str, ...] = ()
    stays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Would:
    """The preview. `here`: the chat stands at that step already. `note`: what is in the way."""

    here: bool
    move: str
    lines: tuple[Consequence, ...]
    note: Note | None
    discard: bool
    button: str


def foresee(listing: Listing, step: StepView, preview: Preview, *, discard: bool, chat_url: str) -> Would:
    """What restoring `step` would do. `listing` holds everything; `discard`: what is set aside goes for good."""
    rewound = preview.rewound
    lines = [*_turns(listing, step, rewound, discard=discard), *_effects(rewound)]
    refusal = preview.refusal
    return Would(
        here=rewound.unchanged,
        move=_move(listing, step),
        lines=tuple(lines),
        note=in_the_way(refusal, chat_url) if isinstance(refusal, Refusal) else None,
        discard=discard,
        button=_button(rewound, discard=discard),
    )


def path_to(steps: Mapping[StepId, StepView], step: StepView) -> list[StepView]:
    """The kept steps that lead to a step, the step first."""
    path: list[StepView] = []
    at: StepView | None = step
    while at is not None:
        path.append(at)
        at = steps.get(at.parent) if at.parent else None
    return path


def _turns(listing: Listing, step: StepView, rewound: Rewound, *, discard: bool) -> list[Consequence]:
    leads = {view.step.id for view in path_to({v.step.id: v for v in listing.steps}, step)}
    left = [view for view in listing.steps if view.on_path and view.step.id not in leads]
    turns = {view.turn.turn_no: view for view in listing.turns}
    kept_turns = {view.step.turn_no for view in listing.steps if view.step.id in leads}
    lines = []
    if rewound.turns_set_aside:
        gone = [turns[n] for n in dict.fromkeys(v.step.turn_no for v in left) if n not in kept_turns]
        what = "deleted for good" if discard else "set aside"
        after = "All that does not lead to this step goes." if discard else "Kept; Bring back returns them."
        named = _named(gone, rewound.turns_set_aside)
        lines.append(
            Consequence(
                number=rewound.turns_set_aside,
                what=f"{_noun(rewound.turns_set_aside, 'turn')} {what}",
                detail=f"{named}. {after}" if named else after,
            )
        )
    rest = [view for view in left if view.step.turn_no in kept_turns]
    if rest:
        what = f"{_noun(len(rest), 'step')} {'deleted for good' if discard else 'set aside'}"
        detail = f"The rest of turn {rest[0].step.turn_index}."
        lines.append(Consequence(number=len(rest), what=what, detail=detail))
    if rewound.turns_brought_back:
        back = [turns[n] for n in kept_turns if not turns[n].on_path]
        back.sort(key=lambda view: view.turn.turn_no)
        named = _named(back, rewound.turns_brought_back)
        what = f"{_noun(rewound.turns_brought_back, 'turn')} brought back"
        lines.append(Consequence(number=rewound.turns_brought_back, what=what, detail=f"{named}." if named else ""))
    return lines


def _named(turns: Sequence[TurnView], total: int) -> str:
    named = [
        f"turn {view.turn.turn_index}" + (f", “{text}”" if (text := on_one_line(view.turn.summary, 40)) else "")
        for view in turns[:_TURNS_NAMED]
    ]
    more = total - len(named)
    if named and more > 0:
        named.append(f"{more} more")
    text = "; ".join(named[:-1]) + " and " + named[-1] if len(named) > 1 else "".join(named)
    return text[:1].upper() + text[1:]


def _effects(rewound: Rewound) -> list[Consequence]:
    groups: dict[str, list[Effect]] = {}
    for effect in rewound.effects:
        groups.setdefault(effect.tool, []).append(effect)
    lines = [_effect_line(tool, effects) for tool, effects in groups.items()]
    more = rewound.effects_total - len(rewound.effects)
    if more > 0:
        detail = f"The newest {len(rewound.effects)} are listed here."
        lines.append(Consequence(number=more, what="earlier calls stay done", detail=detail, stays=True))
    return lines


def _effect_line(tool: str, effects: Sequence[Effect]) -> Consequence:
    one, many = _NOUNS.get(tool, ("", ""))
    name = on_one_line(tool, 40)
    if not one:
        one, many = f"{name} stays done", f"{name} calls stay done"
    calls = [main_argument(effect.args) or name for effect in effects[:_CALLS_NAMED]]
    spots = [f"turn {effect.turn_index}, step {effect.number}" for effect in effects[:1]]
    more = len(effects) - _CALLS_NAMED
    detail = f"and {more} more" if more > 0 else f"in {spots[0]}" if len(effects) == 1 else ""
    return Consequence(
        number=len(effects), what=one if len(effects) == 1 else many, detail=detail, calls=tuple(calls), stays=True
    )


def _move(listing: Listing, step: StepView) -> str:
    head = next((view.step for view in listing.steps if view.head), None)
    start = where(head) if head else "the beginning"
    way = "back " if step.on_path else "over "
    return f"the chat goes from {start} {way}to this step"


def _button(rewound: Rewound, *, discard: bool) -> str:
    if not discard:
        return "Restore here"
    if rewound.turns_set_aside:
        return f"Restore and delete {counted(rewound.turns_set_aside, 'turn')}"
    return "Restore and delete the rest"


def _noun(n: int, noun: str) -> str:
    return noun if n == 1 else f"{noun}s"
