"""A thread's steps as rows of fixed heights, so that the branch picture beside them is a running sum.

Rows are in the order of saving, oldest first. Long conversations are cut into stretches of whole turns;
all but the newest are folded into a bar each. What was set aside is a run, with a bar of its own before
its first row, and folded too unless it is the newest. Which ones are open is the reader's choice, named
in the address, so that a link shows what its sender saw.

Lengths are in sixteenths of a rem, the units of the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from turnback.core.models import StepId, StepKind, StepView, TurnView

TURN_HEIGHT, STEP_HEIGHT, BAR_HEIGHT = 40, 32, 36

STRETCH = 100
"""Steps after which a stretch ends, with the turn that they are in."""

NEWEST_RUN = 30
"""The longest run that is shown unasked."""

MOST_CHOICES = 16
"""Folds that one address may open or close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the reader wants to see: whether what is set aside at all, and which folds against the rule.

    A fold's name is `b` and a branch, or `t` and the number of a stretch's first turn.
    """

    aside: bool = True
    opened: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()

    def turned(self, name: str, *, to_open: bool) -> Choice:
        """The same, with one fold opened or closed."""
        opened, closed = self.opened - {name}, self.closed - {name}
        if to_open:
            return replace(self, opened=opened | {name}, closed=closed)
        return replace(self, opened=opened, closed=closed | {name})

    def with_aside(self, shown: bool) -> Choice:
        """The same, with what is set aside shown or not."""
        return replace(self, aside=shown)

    def query(self) -> dict[str, str]:
        """What an address says of it; nothing by default."""
        told = {"open": ".".join(sorted(self.opened)), "shut": ".".join(sorted(self.closed))}
        return {**{key: value for key, value in told.items() if value}, **({} if self.aside else {"aside": "no"})}


def chosen(opened: str, closed: str, aside: str) -> Choice:
    """A choice as an address tells it; what is no name of a fold is not heard."""
    return Choice(aside=aside != "no", opened=_names(opened), closed=_names(closed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The steps of one branch beyond where the path left it, oldest first, and the step that it left."""

    branch: int
    steps: tuple[StepView, ...]

    @property
    def name(self) -> str:
        """Its fold's name."""
        return f"b{self.branch}"

    @property
    def parent(self) -> StepId | None:
        """The nearest kept step before it; None if there is none."""
        return self.steps[0].parent

    @property
    def tip(self) -> StepView:
        """Its newest step."""
        return self.steps[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Something of the list; `top` is where it begins, `kind` its word in templates."""

    kind: ClassVar[str] = ""

    top: int

    @property
    def height(self) -> int:
        """How tall it is."""
        return BAR_HEIGHT

    @property
    def middle(self) -> int:
        """Where the picture has its dot or stop."""
        return self.top + self.height // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow(Row):
    """The head of a turn, or of the part of it that was set aside."""

    kind: ClassVar[str] = "turn"

    turn: TurnView
    model: str | None
    aside: bool
    continued: bool

    @property
    def height(self) -> int:
        return TURN_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow(Row):
    """A step. `ends_turn`: the last of its turn; `run` is the branch of the run it lies in."""

    kind: ClassVar[str] = "step"

    view: StepView
    ends_turn: bool
    run: int | None

    @property
    def height(self) -> int:
        return STEP_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(Row):
    """The bar before a run; `shown`: its steps follow."""

    kind: ClassVar[str] = "run"

    run: Run
    shown: bool
    turns: int

    @property
    def middle(self) -> int:
        return self.top + 22


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchRow(Row):
    """The bar in place of a folded stretch, or above one that was opened."""

    kind: ClassVar[str] = "stretch"

    name: str
    first: TurnView
    last: TurnView
    steps: int
    aside: int
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRow(Row):
    """What lies before the first step, where a run leaves from there or the thread stands there."""

    kind: ClassVar[str] = "start"

    beginning: bool
    head: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The rows, the runs, and at which row each step is drawn: its own, or the bar that hides it.

    `choice` makes the same rows whichever step is opened, so that opening another one moves nothing.
    """

    choice: Choice
    rows: tuple[Row, ...]
    runs: Mapping[int, Run]
    row_of: Mapping[StepId, Row]

    @property
    def height(self) -> int:
        """How tall all rows are."""
        return self.rows[-1].top + self.rows[-1].height if self.rows else 0

    def steps(self) -> list[StepRow]:
        """The rows of steps."""
        return [row for row in self.rows if isinstance(row, StepRow)]


def lay_out(
    turns: Sequence[TurnView], steps: Sequence[StepView], choice: Choice, opened: StepId | None = None
) -> Layout:
    """The rows of all steps (`steps` in the order of saving, with `turns` that hold them).

    The stretch and the run of the opened step are open, whatever the choice.
    """
    if not choice.aside:
        steps = [view for view in steps if view.on_path or view.step.id == opened]
    runs = runs_of(steps)
    stretches = list(_stretches(steps))
    choice = _with_opened(choice, runs, stretches, opened)
    plan = _Plan(
        turns={view.turn.turn_no: view for view in turns},
        runs=runs,
        open_runs=_open_runs(runs, choice),
        last_of_turn=_ends(steps),
    )
    if _needs_start(runs, steps):
        plan.start(steps)
    shown = _open_stretches(stretches, choice)
    for index, stretch in enumerate(stretches):
        plan.stretch(stretch, shown=index in shown, foldable=index < len(stretches) - 1 and len(stretches) > 1)
    return Layout(choice=choice, rows=tuple(plan.rows), runs=runs, row_of=plan.row_of)


def runs_of(steps: Sequence[StepView]) -> dict[int, Run]:
    """The runs among the steps, by branch."""
    found: dict[int, list[StepView]] = {}
    for view in steps:
        if not view.on_path and view.step.kind is StepKind.STEP:
            found.setdefault(view.step.at.branch, []).append(view)
    return {
        branch: Run(branch=branch, steps=tuple(sorted(views, key=lambda v: v.step.at.pos)))
        for branch, views in found.items()
    }


@dataclass(slots=True, kw_only=True)
class _Plan:
    """Rows as they are put below each other."""

    turns: Mapping[int, TurnView]
    runs: Mapping[int, Run]
    open_runs: frozenset[int]
    last_of_turn: frozenset[StepId]
    rows: list[Row] = field(default_factory=list)
    row_of: dict[StepId, Row] = field(default_factory=dict)
    _top: int = 0
    _under: tuple[int, int | None] | None = None
    _barred: set[int] = field(default_factory=set)
    _begun: set[int] = field(default_factory=set)

    def start(self, steps: Sequence[StepView]) -> None:
        """The row before the first step."""
        first = steps[0].step
        self._put(
            StartRow(
                top=self._top,
                beginning=first.turn_index == 1 and first.iteration == 0,
                head=not any(view.head for view in steps),
            )
        )

    def stretch(self, steps: Sequence[StepView], *, shown: bool, foldable: bool) -> None:
        """The rows of a stretch, or the bar in their place."""
        bar = None
        if foldable or not shown:
            bar = self._put(self._bar(steps, shown=shown))
        if not shown and bar is not None:
            self.row_of.update({view.step.id: bar for view in steps})
            self._begun.update(view.step.turn_no for view in steps)
            self._under = None
            return
        for view in steps:
            self._step(view)

    def _bar(self, steps: Sequence[StepView], *, shown: bool) -> StretchRow:
        return StretchRow(
            top=self._top,
            name=_stretch_name(steps),
            first=self.turns[steps[0].step.turn_no],
            last=self.turns[steps[-1].step.turn_no],
            steps=len(steps),
            aside=sum(not view.on_path for view in steps),
            shown=shown,
        )

    def _step(self, view: StepView) -> None:
        step = view.step
        run = self.runs.get(step.at.branch) if not view.on_path and step.kind is StepKind.STEP else None
        if run is not None and run.branch not in self._barred:
            self._barred.add(run.branch)
            shown = run.branch in self.open_runs
            self._put(RunRow(top=self._top, run=run, shown=shown, turns=self._turns_in(run)))
            self._under = None
        if run is not None and run.branch not in self.open_runs:
            self.row_of[step.id] = next(r for r in self.rows if isinstance(r, RunRow) and r.run is run)
            return
        branch = run.branch if run else None
        if self._under != (step.turn_no, branch):
            self._under = (step.turn_no, branch)
            self._head(view, aside=run is not None)
        row = StepRow(top=self._top, view=view, ends_turn=step.id in self.last_of_turn, run=branch)
        self._put(row)
        self.row_of[step.id] = row

    def _head(self, view: StepView, *, aside: bool) -> None:
        number = view.step.turn_no
        turn = self.turns[number]
        self._put(
            TurnRow(top=self._top, turn=turn, model=view.step.model, aside=aside, continued=number in self._begun)
        )
        self._begun.add(number)

    def _turns_in(self, run: Run) -> int:
        """Turns that began in a run; one that was left in its middle does not count."""
        began = {view.step.turn_no for view in run.steps}
        return sum(not self.turns[number].on_path for number in began)

    def _put(self, row: Row) -> Row:
        self.rows.append(row)
        self._top += row.height
        return row


def _names(text: str) -> frozenset[str]:
    names = [name for name in text.split(".") if name[:1] in ("b", "t") and name[1:].isdecimal() and len(name) < 12]
    return frozenset(names[:MOST_CHOICES])


def _stretches(steps: Sequence[StepView]) -> Iterator[list[StepView]]:
    """The steps in stretches, counted from the oldest, so that a new step moves no border."""
    stretch: list[StepView] = []
    for view in steps:
        if len(stretch) >= STRETCH and view.step.turn_no != stretch[-1].step.turn_no:
            yield stretch
            stretch = []
        stretch.append(view)
    if stretch:
        yield stretch


def _stretch_name(steps: Sequence[StepView]) -> str:
    return f"t{steps[0].step.turn_no}"


def _with_opened(
    choice: Choice, runs: Mapping[int, Run], stretches: Sequence[Sequence[StepView]], opened: StepId | None
) -> Choice:
    """The choice with the folds of the opened step open."""
    if opened is None:
        return choice
    names = {run.name for run in runs.values() if any(v.step.id == opened for v in run.steps)}
    names |= {_stretch_name(stretch) for stretch in stretches if any(v.step.id == opened for v in stretch)}
    for name in names - {_stretch_name(stretch) for stretch in stretches[-1:]} - choice.opened:
        choice = choice.turned(name, to_open=True)
    return choice


def _open_stretches(stretches: Sequence[Sequence[StepView]], choice: Choice) -> set[int]:
    """The newest, and the one before it if that is short; where the chat stands; and what was chosen."""
    last = len(stretches) - 1
    shown = {last}
    if last > 0 and len(stretches[last]) < STRETCH // 2:
        shown.add(last - 1)
    shown |= {index for index, stretch in enumerate(stretches) if any(v.head for v in stretch)}
    shown = {index for index in shown if index == last or _stretch_name(stretches[index]) not in choice.closed}
    return shown | {index for index, stretch in enumerate(stretches) if _stretch_name(stretch) in choice.opened}


def _open_runs(runs: Mapping[int, Run], choice: Choice) -> frozenset[int]:
    newest = max(runs.values(), key=lambda run: max(v.step.seq for v in run.steps), default=None)
    shown = {branch for branch, run in runs.items() if run.name in choice.opened}
    if newest is not None and len(newest.steps) <= NEWEST_RUN and newest.name not in choice.closed:
        shown.add(newest.branch)
    return frozenset(shown)


def _ends(steps: Sequence[StepView]) -> frozenset[StepId]:
    """The last step of each turn, of what lies on the path and of what was set aside each."""
    return frozenset({(v.step.turn_no, v.on_path): v.step.id for v in steps}.values())


def _needs_start(runs: Mapping[int, Run], steps: Sequence[StepView]) -> bool:
    return bool(steps) and (any(run.parent is None for run in runs.values()) or not any(v.head for v in steps))
