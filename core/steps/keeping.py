"""Which steps stay when one is saved: thinning and every budget, inside the save's own transaction.

The counters that the budgets ask for are kept by triggers, so that a check reads two rows however
many steps there are. Only what goes is looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from turnback.core.packs import Packs
from turnback.core.policy import MAX_LABELS, THINNING_KEEPS, Budgets, is_thinned
from turnback.core.steps import rows

HINTS = 4096
"""Threads of whose newest turn something is remembered."""

BETWEEN = 40
"""Steps of other turns, saved late, that may lie among a turn's."""

_NEWEST = "SELECT * FROM step WHERE thread = ? ORDER BY seq DESC LIMIT ?"

Gone = tuple[int, int, bytes]
"""Of a step that goes: seq, its thread's number, ref."""


@dataclass(slots=True)
class Hints:
    """What saves found out and later saves need not ask again; forgotten whenever anything else is done.

    `floor`: no step below it is without a label. `turns`: of a thread's newest turn, its number, not less than
    how many steps it has, and not less than their highest iteration.
    """

    floor: int = 0
    turns: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def forget(self) -> None:
        self.floor = 0
        self.turns.clear()


class Keeper:
    """Applies the rules after the step `saved` of thread `number` was written."""

    def __init__(
        self, db: sqlite3.Connection, packs: Packs, hints: Hints, number: int, saved: int, budgets: Budgets
    ) -> None:
        self._db, self._packs, self._hints = db, packs, hints
        self._number, self._saved, self._budgets = number, saved, budgets

    def apply(self, turn_no: int, iteration: int) -> None:
        count, highest = self._turn(turn_no, iteration)
        if count > self._budgets.max_per_turn or highest >= THINNING_KEEPS:
            self._thin(turn_no)
        counts = dict(self._counters())
        self._limit_counts(counts)
        self._limit_bytes(counts)

    # thinning

    def _turn(self, turn_no: int, iteration: int) -> tuple[int, int]:
        """Not less than how many steps the turn has, and than their highest iteration."""
        known, count, highest = self._hints.turns.get(self._number, (None, 0, 0))
        if known == turn_no:
            count, highest = count + 1, max(highest, iteration)
        else:
            count, highest = self._db.execute(
                f"SELECT count(*), max(iteration) FROM ({_NEWEST}) WHERE turn_no = ?", (*self._newest(), turn_no)
            ).fetchone()
        if len(self._hints.turns) >= HINTS:
            self._hints.turns.clear()
        self._hints.turns[self._number] = (turn_no, count, highest)
        return count, highest

    def _thin(self, turn_no: int) -> None:
        most = self._budgets.max_per_turn
        turn = self._db.execute(
            f"SELECT seq, ref, iteration + 1, label_key IS NOT NULL FROM ({_NEWEST})"
            " WHERE turn_no = ? AND kind = 'step' ORDER BY seq",
            (*self._newest(), turn_no),
        ).fetchall()
        gone = surplus([(number, bool(labelled)) for _, _, number, labelled in turn], most)
        self._remove([(turn[at][0], self._number, turn[at][1]) for at in gone if turn[at][0] != self._saved])

    def _newest(self) -> tuple[int, int]:
        """What a turn's steps are looked for in: the turn that is saved is the thread's newest."""
        return self._number, min(self._budgets.max_per_turn, self._budgets.max_snapshots) + MAX_LABELS + BETWEEN

    # budgets

    def _counters(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Steps and bytes of the thread, and under 0 of all."""
        for number in (0, self._number):
            [counted] = self._db.execute("SELECT steps, bytes FROM pack_thread WHERE number = ?", (number,))
            yield number, counted

    def _limit_counts(self, counts: dict[int, tuple[int, int]]) -> None:
        over = counts[self._number][0] - self._budgets.max_snapshots
        if over > 0:
            self._remove(self._oldest("thread = ? AND label_key IS NULL", (self._number,), over))
            counts.update(self._counters())
        over = counts[0][0] - self._budgets.max_global_snapshots
        if over > 0:
            gone = self._oldest("label_key IS NULL AND seq >= ?", (self._hints.floor,), over)
            self._hints.floor = gone[-1][0] if gone else 0
            self._remove(gone)

    def _limit_bytes(self, counts: dict[int, tuple[int, int]]) -> None:
        """The oldest go until the rest fits; what is shared with newer ones is not freed by that."""
        if counts[self._number][1] > self._budgets.max_thread_bytes:
            self._free("thread = ?", (self._number,), self._number, self._budgets.max_thread_bytes)
            counts.update(self._counters())
        if counts[0][1] > self._budgets.max_total_bytes:
            self._free("1", (), 0, self._budgets.max_total_bytes)

    def _free(self, where: str, values: tuple[int, ...], counter: int, most: int) -> None:
        for number in {self._number, *(gone[1] for gone in self._oldest(where, values, 1))}:
            self._packs.sweep(self._db, _name(self._db, number))
        while dict(self._counters())[counter][1] > most:
            oldest = self._oldest(where, values, 1)
            if not oldest:
                return
            self._remove(oldest)
            self._packs.sweep(self._db, _name(self._db, oldest[0][1]))

    def _oldest(self, where: str, values: tuple[int, ...], count: int) -> list[Gone]:
        return self._db.execute(
            f"SELECT seq, thread, ref FROM step WHERE {where} AND seq != ? ORDER BY seq LIMIT ?",
            (*values, self._saved, count),
        ).fetchall()

    def _remove(self, gone: Sequence[Gone]) -> None:
        remove(self._db, self._packs, gone)


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
