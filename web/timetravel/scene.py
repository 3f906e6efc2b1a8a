"""What stands beside the rows: marks of steps, the words of bars, how a run comes back, what is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnback.core.answers import Listing
from turnback.core.models import StepId, StepView, Thread
from turnback.core.text import counted
from turnback.web.timetravel.layout import Choice, Layout, Run, RunRow, StretchRow, TurnRow, lay_out
from turnback.web.timetravel.picture import Picture, draw
from turnback.web.timetravel.wording import Note, on_one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The settings that the page shows or goes by."""

    discard: bool = False
    steps: int = 50
    bytes: int = 33_554_432


@dataclass(frozen=True, slots=True, kw_only=True)
class BringBack:
    """How a run comes back: by a redo of just the move that left it, or by restoring its tip."""

    only: str | None = None
    step: StepId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A conversation in Time Travel. `forks`: the chats of the asker that were forked from each step."""

    listing: Listing
    layout: Layout
    picture: Picture
    opened: StepId | None
    forks: Mapping[StepId, Sequence[Thread]]
    limits: Limits
    note: Note | None = None

    @property
    def thread(self) -> Thread:
        """The conversation."""
        return self.listing.thread

    @property
    def choice(self) -> Choice:
        """The folds as they are shown."""
        return self.layout.choice

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return self.thread.running_turn is not None

    @property
    def standing(self) -> StepView | None:
        """The step where the chat stands."""
        return next((view for view in self.listing.steps if view.head), None)

    def bring_back(self, run: Run) -> BringBack | None:
        """How a run comes back, if it can without a question."""
        back = self.listing.back
        if back is not None and back.to.branch == run.branch and back.to.pos >= run.steps[0].step.at.pos:
            return BringBack(only=back.id)
        if self.limits.discard or run.tip.step.truncated:
            return None
        return BringBack(step=run.tip.step.id)

    def opened_beside(self, row: RunRow | StretchRow) -> StepId | None:
        """The opened step once that fold is turned: it closes with a fold that holds it."""
        if not row.shown or self.opened is None:
            return self.opened
        if isinstance(row, RunRow):
            holds = any(view.step.id == self.opened for view in row.run.steps)
        else:
            number = next(v.step.turn_no for v in self.listing.steps if v.step.id == self.opened)
            holds = row.first.turn.turn_no <= number <= row.last.turn.turn_no
        return None if holds else self.opened

    def run_words(self, row: RunRow) -> str:
        """`2 turns`, which are set aside; of a turn that was left in its middle, its steps."""
        return counted(row.turns, "turn") if row.turns else counted(len(row.run.steps), "step")

    def stretch_words(self, row: StretchRow) -> str:
        """`Turns 3 to 41`."""
        first, last = row.first.turn.turn_index, row.last.turn.turn_index
        return f"Turn {first}" if first == last else f"Turns {first} to {last}"

    def turn_words(self, row: TurnRow) -> str:
        """What was asked."""
        return on_one_line(row.turn.turn.summary, 120)


def set_up(
    listing: Listing,
    *,
    choice: Choice,
    opened: StepId | None,
    threads: Sequence[Thread],
    limits: Limits,
    note: Note | None = None,
) -> Scene:
    """The scene of a listing that holds everything; `threads` are the asker's chats."""
    forks = forks_of(listing, threads)
    layout = lay_out(listing.turns, listing.steps, choice, opened)
    picture = draw(layout, opened=opened, forked=frozenset(forks))
    return Scene(listing=listing, layout=layout, picture=picture, opened=opened, forks=forks, limits=limits, note=note)


def forks_of(listing: Listing, threads: Sequence[Thread]) -> dict[StepId, list[Thread]]:
    """The chats that were forked from steps of the listing, by step."""
    steps = {view.step.id for view in listing.steps}
    found: dict[StepId, list[Thread]] = {}
    for thread in threads:
        origin = thread.forked_from
        if origin is not None and origin.thread_id == listing.thread.id and origin.snapshot_id in steps:
            found.setdefault(origin.snapshot_id, []).append(thread)
    return found
