"""Which steps stay when one is saved: thinning and every budget, inside the save's own transaction.

The counters that the budgets ask for are kept by triggers, so that a check reads two rows however
many steps there are; while they are known to be far from their limits, it reads nothing. Only what goes is
looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from turnback.core.models import Step
from turnback.core.packs import Packs
from turnback.core.policy import MAX_LABELS, THINNING_KEEPS, Budgets, is_thinned
from turnback.core.steps import rows

HINTS = 4096
"""Threads of whose newest turn something is remembered."""

GOOD_FOR = 32
"""Saves between two looks at the counters where nothing is near its limit."""

BETWEEN = 40
"""Steps of other turns, saved late, that may lie among a turn's."""

_NEWEST = "SELECT * FROM step WHERE thread = ? ORDER BY seq DESC LIMIT ?"

Gone = tuple[int, int, bytes]
"""Of a step that goes: seq, its thread's number, ref."""


@dataclass(slots=True)
class Counters:
    """Not less than how many steps and bytes there are; the file is asked when that is too much, and now and then."""

    steps: int = 0
    bytes: int = 0
    good_for: int = 0
    """Saves until the file is asked anyway."""


@dataclass(slots=True)
class Known:
    """Of a thread: its fence, its newest turn with not less than how many steps and which iteration, its counters."""

    epoch: int
    turn_no: int | None = None
    count: int = 0
    highest: int = 0
    counters: Counters = field(default_factory=Counters)


@dataclass(slots=True)
class Hints:
    """What saves found out and later saves need not ask again; forgotten whenever anything else is done.

    `floor`: no step below it is without a label.
    """

    floor: int = 0
    threads: dict[str, Known] = field(default_factory=dict)
    everything: Counters = field(default_factory=Counters)

    def forget(self) -> None:
        self.floor = 0
        self.threads.clear()
        self.everything = Counters()

    def of(self, db: sqlite3.Connection, thread: str) -> Known:
        """What is known of a thread; its fence is looked up if nothing is."""
        known = self.threads.get(thread)
        if known is None:
            row = db.execute("SELECT epoch FROM fence WHERE thread = ?", (thread,)).fetchone()
            if len(self.threads) >= HINTS:
                self.threads.clear()
            known = self.threads[thread] = Known(0 if row is None else int(row[0]))
        return known


class Keeper:
    """Applies the rules after the step `saved` of thread `number` was written.

    `grown` is by how many bytes the counters grew, None where that is not known.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        packs: Packs,
        hints: Hints,
        known: Known,
        number: int,
        saved: Step,
        grown: int | None,
        budgets: Budgets,
    ) -> None:
        self._db, self._packs, self._hints, self._known = db, packs, hints, known
        self._number, self._saved, self._grown_by, self._budgets = number, saved, grown, budgets

    def apply(self) -> None:
        count, highest = self._turn()
        if count > self._budgets.max_per_turn or highest >= THINNING_KEEPS:
            self._thin()
        if self._grown(self._number, self._known.counters).steps > self._budgets.max_snapshots:
            self._limit_count()
        if self._grown(0, self._hints.everything).steps > self._budgets.max_global_snapshots:
            self._limit_count_of_all()
        if self._known.counters.bytes > self._budgets.max_thread_bytes:
            self._free("thread = ?", (self._number,), self._number, self._budgets.max_thread_bytes)
        if self._hints.everything.bytes > self._budgets.max_total_bytes:
            self._free("1", (), 0, self._budgets.max_total_bytes)

    # thinning

    def _turn(self) -> tuple[int, int]:
        """Not less than how many steps the turn has, and than their highest iteration."""
        known, turn_no, iteration = self._known, self._saved.turn_no, self._saved.iteration
        if known.turn_no == turn_no:
            known.count, known.highest = known.count + 1, max(known.highest, iteration)
        elif known.turn_no is not None and known.turn_no < turn_no:
            known.turn_no, known.count, known.highest = turn_no, 1, iteration
        else:
            count, highest = self._db.execute(
                f"SELECT count(*), max(iteration) FROM ({_NEWEST}) WHERE turn_no = ?", (*self._newest(), turn_no)
            ).fetchone()
            if known.turn_no is not None:  # a late step of an older turn
                return count, highest
            known.turn_no, known.count, known.highest = turn_no, count, highest
        return known.count, known.highest

    def _thin(self) -> None:
        turn = self._db.execute(
            f"SELECT seq, ref, iteration + 1, label_key IS NOT NULL FROM ({_NEWEST})"
            " WHERE turn_no = ? AND kind = 'step' ORDER BY seq",
            (*self._newest(), self._saved.turn_no),
        ).fetchall()
        gone = surplus([(number, bool(labelled)) for _, _, number, labelled in turn], self._budgets.max_per_turn)
        self._remove([(turn[at][0], self._number, turn[at][1]) for at in gone if turn[at][0] != self._saved.seq])

    def _newest(self) -> tuple[int, int]:
        """What a turn's steps are looked for in: the turn that is saved is the thread's newest."""
        return self._number, min(self._budgets.max_per_turn, self._budgets.max_snapshots) + MAX_LABELS + BETWEEN

    # budgets

    def _grown(self, number: int, counters: Counters) -> Counters:
        """Count the step to its thread's counters, or under 0 to those of all."""
        counters.steps += 1
        counters.bytes += self._grown_by or 0
        counters.good_for -= 1
        most = self._budgets
        steps, size = (
            (most.max_snapshots, most.max_thread_bytes) if number else (most.max_global_snapshots, most.max_total_bytes)
        )
        if self._grown_by is None or counters.good_for < 0 or counters.steps > steps or counters.bytes > size:
            self._ask(number, counters)
        return counters

    def _ask(self, number: int, counters: Counters) -> None:
        counters.steps, counters.bytes = self._db.execute(
            "SELECT steps, bytes FROM pack_thread WHERE number = ?", (number,)
        ).fetchone()
        counters.good_for = GOOD_FOR

    def _limit_count(self) -> None:
        over = self._known.counters.steps - self._budgets.max_snapshots
        self._remove(self._oldest("thread = ? AND label_key IS NULL", (self._number,), over))

    def _limit_count_of_all(self) -> None:
        over = self._hints.everything.steps - self._budgets.max_global_snapshots
        gone = self._oldest("label_key IS NULL AND seq >= ?", (self._hints.floor,), over)
        self._hints.floor = gone[-1][0] if gone else 0
        self._remove(gone)

    def _free(self, where: str, values: tuple[int, ...], number: int, most: int) -> None:
        """The oldest go until the rest fits; what is shared with newer ones is not freed by that."""
        counters = self._known.counters if number else self._hints.everything
        for other in {self._number, *(gone[1] for gone in self._oldest(where, values, 1))}:
            self._packs.sweep(self._db, _name(self._db, other))
        self._ask(number, counters)
        while counters.bytes > most:
            oldest = self._oldest(where, values, 1)
            if not oldest:
                return
            self._remove(oldest)
            self._packs.sweep(self._db, _name(self._db, oldest[0][1]))
            self._ask(number, counters)

    def _oldest(self, where: str, values: tuple[int, ...], count: int) -> list[Gone]:
        return self._db.execute(
            f"SELECT seq, thread, ref FROM step WHERE {where} AND seq != ? ORDER BY seq LIMIT ?",
            (*values, self._saved.seq, count),
        ).fetchall()

    def _remove(self, gone: Sequence[Gone]) -> None:
        remove(self._db, self._packs, gone)
        self._hints.everything.steps -= len(gone)
        self._known.counters.steps -= sum(number == self._number for _, number, _ in gone)


def remove(db: sqlite3.Connection, packs: Packs, gone: Sequence[Gone], *, purge: bool = False) -> None:
    """Delete steps and let go of their states."""
    rows.remove(db, [seq for seq, _, _ in gone])
    of_thread: dict[int, list[bytes]] = {}
    for _, number, ref in gone:
        of_thread.setdefault(number, []).append(ref)
    for number, refs in of_thread.items():
        packs.drop(db, _name(db, number), refs, purge=purge)


def surplus(turn: Sequence[tuple[int, bool]], most: int) -> list[int]:
    """Places in `turn` of the steps that go, by `policy.surplus_of_turn` with labelled ones spared.

    `turn` holds number and whether labelled, oldest first, the newest just saved.
    """
    last = len(turn) - 1
    gone = [at for at, (number, labelled) in enumerate(turn) if at < last and is_thinned(number) and not labelled]
    kept = [at for at in range(len(turn)) if at not in set(gone)]
    over = len(kept) - most
    if over > 0:
        first = 0 if most == 1 else 1
        gone += [at for at in kept[first:] if at < last and not turn[at][1]][:over]
    return gone


def _name(db: sqlite3.Connection, number: int) -> str:
    return str(db.execute("SELECT name FROM pack_thread WHERE number = ?", (number,)).fetchone()[0])
