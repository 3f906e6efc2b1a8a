"""The branch picture: what a track engineer would draw beside the rows, as shapes for one SVG.

The present path is lane 0 and never moves. A run that was set aside takes the nearest lane to the right
that is free over its rows; there are few lanes, so a crowd shares the last one, which says how many it
holds. Text beside the picture says the same, so it is hidden from screen readers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from turnback.core.models import StepId
from turnback.core.text import counted
from turnback.web.timetravel.layout import Layout, Row, Run, RunRow, StartRow, StepRow, StretchRow

FIRST_X, LANE = 10, 24
_MARGIN = 18

_RUNS_NAMED = 6

OWN_LANES = 3
"""Lanes to the right of the path that hold one run at a time; the next one is shared."""

_STUB, _SHORT_STUB = 20, 9
"""How far from its dot a fork's square stands."""

_CURVE = 34
"""How far below its parent's dot a run has reached its lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A stroke: `kind` is p (path), o (set aside) or f (a stop or a stub)."""

    kind: str
    d: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A step's dot: hollow, filled (`e`) at its turn's end, small (`so`) where set aside."""

    x: int
    y: int
    kind: str
    r: float
    step: StepId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """A chat that was forked from a step."""

    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The shapes, back to front. `words` is what they say; `crowd`: how many runs share the last lane, and where."""

    width: int
    height: int
    lines: tuple[Line, ...]
    squares: tuple[Square, ...]
    dots: tuple[Dot, ...]
    crowd: tuple[int, int, int] | None
    words: str

    @property
    def gutter(self) -> int:
        """How many lanes the list has to leave room for."""
        return (self.width - FIRST_X - _MARGIN) // LANE + 1


def draw(layout: Layout, *, opened: StepId | None = None, forked: Collection[StepId] = ()) -> Picture:
    """The picture of a layout. `forked`: steps that chats were forked from."""
    lanes = _lanes(layout)
    split = _split(layout, opened)
    lines, dots = _path(layout, split)
    for branch, run in layout.runs.items():
        if branch in lanes:
            lines += _spur(layout, run, lanes)
    stubs, squares = _forks(layout, lanes, forked)
    for row in layout.steps():
        dots += _dots(row, lanes, opened, split)
    return Picture(
        width=_x(max(1, 1, *lanes.values())) + _MARGIN,
        height=layout.height,
        lines=(*lines, *stubs),
        squares=tuple(squares),
        dots=tuple(dots),
        crowd=_crowd(layout, lanes),
        words=_words(layout, forked),
    )


def _x(lane: int) -> int:
    return FIRST_X + LANE * lane


def _lanes(layout: Layout) -> dict[int, int]:
    """The lane of each run that has something to be seen."""
    lanes: dict[int, int] = {}
    taken: list[tuple[int, int, int]] = []
    for top, end, branch in sorted(_spans(layout)):
        busy = {lane for lane, first, last in taken if first <= end and top <= last}
        lane = next((n for n in range(1, OWN_LANES + 1) if n not in busy), OWN_LANES + 1)
        lanes[branch] = lane
        taken.append((lane, top, end))
    return lanes


def _spans(layout: Layout) -> list[tuple[int, int, int]]:
    """From where to where each run is drawn, if it is, and its branch."""
    spans = []
    for branch, run in layout.runs.items():
        seen = [row for v in run.steps if isinstance(row := layout.row_of[v.step.id], StepRow | RunRow)]
        if seen:
            spans.append((_leaves_at(layout, run), max(row.middle for row in seen), branch))
    return spans


def _origin(layout: Layout, run: Run) -> Row:
    """The row that a run leaves from: its parent's, the bar that hides it, or what lies before the first step."""
    if run.parent is not None and run.parent in layout.row_of:
        return layout.row_of[run.parent]
    return layout.rows[0]


def _leaves_at(layout: Layout, run: Run) -> int:
    return _origin(layout, run).middle


def _lane_of(row: Row, lanes: Mapping[int, int]) -> int:
    if isinstance(row, StepRow) and row.run is not None:
        return lanes[row.run]
    if isinstance(row, RunRow):
        return lanes[row.run.branch]
    return 0


def _path_rows(layout: Layout) -> list[Row]:
    """The rows that lane 0 runs through, with where the thread stands as the last."""
    found: list[Row] = []
    for row in layout.rows:
        on_path = isinstance(row, StartRow) or (isinstance(row, StepRow) and row.view.on_path)
        if on_path or (isinstance(row, StretchRow) and not row.shown and row.aside < row.steps):
            found.append(row)
    return found


def _split(layout: Layout, opened: StepId | None) -> int | None:
    """Where the path would be cut by restoring the opened step: the dot at which it leaves the path."""
    row = layout.row_of.get(opened) if opened else None
    while row is not None:
        branch = row.run if isinstance(row, StepRow) else row.run.branch if isinstance(row, RunRow) else None
        if branch is None:
            return row.middle
        row = _origin(layout, layout.runs[branch])
    return None


def _path(layout: Layout, split: int | None) -> tuple[list[Line], list[Dot]]:
    rows = _path_rows(layout)
    lines = []
    if len(rows) > 1:
        top, end = rows[0].middle, rows[-1].middle
        at = min(max(split, top), end) if split is not None else end
        if top < at:
            lines.append(Line(kind="p", d=f"M{FIRST_X} {top}V{at}"))
        if at < end:
            lines.append(Line(kind="p then", d=f"M{FIRST_X} {at}V{end}"))
    dots = [Dot(x=FIRST_X, y=row.middle, kind="so", r=3) for row in rows if isinstance(row, StartRow)]
    dots += [Dot(x=FIRST_X, y=row.middle, kind="ring", r=8) for row in rows if isinstance(row, StartRow) and row.head]
    for row in rows:
        if isinstance(row, StretchRow):
            dots += [Dot(x=FIRST_X, y=row.middle + offset, kind="more", r=2.5) for offset in (-8, 0, 8)]
    return lines, dots


def _spur(layout: Layout, run: Run, lanes: Mapping[int, int]) -> list[Line]:
    origin = _origin(layout, run)
    x0, y0, x1 = _x(_lane_of(origin, lanes)), origin.middle, _x(lanes[run.branch])
    rows = [layout.row_of[view.step.id] for view in run.steps]
    end = max(row.middle + (15 if isinstance(row, StepRow) else 0) for row in rows if not isinstance(row, StretchRow))
    bend = min(_CURVE, end - y0)
    curve = f"M{x0} {y0}C{x0} {y0 + bend * 18 // 34} {x1} {y0 + bend * 8 // 34} {x1} {y0 + bend}V{end}"
    return [Line(kind="o", d=curve), Line(kind="f", d=f"M{x1 - 6} {end}h12")]


def _forks(layout: Layout, lanes: Mapping[int, int], forked: Collection[StepId]) -> tuple[list[Line], list[Square]]:
    """A stub with a square beside each forked step: in the next lane if nothing runs there, else before it."""
    lines, squares = [], []
    spans = _spans(layout)
    for row in layout.steps():
        if row.view.step.id not in forked:
            continue
        lane, y = _lane_of(row, lanes), row.middle
        is_free = not any(lanes[branch] == lane + 1 and top <= y <= end for top, end, branch in spans)
        reach = _STUB if is_free else _SHORT_STUB
        lines.append(Line(kind="f", d=f"M{_x(lane)} {y}h{reach}"))
        squares.append(Square(x=_x(lane) + reach, y=y - 4))
    return lines, squares


def _dots(row: StepRow, lanes: Mapping[int, int], opened: StepId | None, split: int | None) -> list[Dot]:
    view = row.view
    if row.run is None and not view.on_path:  # a rescue step lies on no branch
        return []
    x, y, step = _x(_lane_of(row, lanes)), row.middle, view.step.id
    then = " then" if view.on_path and split is not None and y > split else ""
    kind = "so" if row.run is not None else "e" if row.ends_turn else ""
    dots = [Dot(x=x, y=y, kind=kind + then, r=3.5 if row.run is not None else 4.25, step=step)]
    if view.head:
        dots.append(Dot(x=x, y=y, kind="ring" + then, r=8))
    if step == opened:
        dots.append(Dot(x=x, y=y, kind="open", r=8))
    return dots


def _crowd(layout: Layout, lanes: Mapping[int, int]) -> tuple[int, int, int] | None:
    shared = [branch for branch, lane in lanes.items() if lane > OWN_LANES]
    if len(shared) < 2:
        return None
    top = min(_leaves_at(layout, layout.runs[branch]) for branch in shared)
    return _x(OWN_LANES + 1), top + _CURVE, len(shared)


def _words(layout: Layout, forked: Collection[StepId]) -> str:
    """What the picture says, for who does not see it."""
    on_path = [row.view.step for row in layout.steps() if row.view.on_path]
    said = []
    if on_path:
        first, last = on_path[0], on_path[-1]
        said.append(f"The path runs from turn {first.turn_index} to turn {last.turn_index}.")
    bars = [row for row in layout.rows if isinstance(row, RunRow)]
    said += [f"{_capital(_run_words(row))} left it." for row in bars[:_RUNS_NAMED]]
    if len(bars) > _RUNS_NAMED:
        said.append(f"So did {len(bars) - _RUNS_NAMED} more.")
    if forked:
        said.append(f"Chats were forked at {counted(len(forked), 'step')}.")
    return " ".join(said)


def _run_words(row: RunRow) -> str:
    first = row.run.steps[0].step
    return f"{counted(len(row.run.steps), 'step')} from turn {first.turn_index}, step {first.number} on"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
