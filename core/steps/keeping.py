"""Which steps stay when one is saved: thinning and every budget, inside the save's own transaction.

The counters that the budgets ask for are kept by triggers, so that a check reads two rows however
many steps there are. Only what goes is looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from turnback.core.packs import Packs
from turnback.core.policy import THINNING_KEEPS, Budgets, is_thinned
from turnback.core.steps import rows

Gone = tuple[int, int, bytes]
"""Of a step that goes: seq, its thread's number, ref."""


class Keeper:
    """Applies the rules after the step `saved` of thread `number` was written."""

    def __init__(self, db: sqlite3.Connection, packs: Packs, number: int, saved: int, budgets: Budgets) -> None:
        self._db, self._packs, self._number, self._saved, self._budgets = db, packs, number, saved, budgets

    def apply(self, turn_no: int) -> None:
        self._thin(turn_no)
        counts = dict(self._counters())
        self._limit_counts(counts)
        self._limit_bytes(counts)

    # thinning

    def _thin(self, turn_no: int) -> None:
        most = self._budgets.max_per_turn
        count, highest = self._db.execute(
            "SELECT count(*), max(iteration) FROM step WHERE thread = ? AND turn_no = ?", (self._number, turn_no)
        ).fetchone()
        if count <= most and highest < THINNING_KEEPS:
            return
        turn = self._db.execute(
            "SELECT seq, ref, iteration + 1, label_key IS NOT NULL FROM step"
            " WHERE thread = ? AND turn_no = ? AND kind = 'step' ORDER BY seq",
            (self._number, turn_no),
        ).fetchall()
        gone = surplus([(number, bool(labelled)) for _, _, number, labelled in turn], most)
        self._remove([(turn[at][0], self._number, turn[at][1]) for at in gone if turn[at][0] != self._saved])

    # budgets

    def _counters(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Steps and bytes of the thread, and under 0 of all."""
        for number, steps, size in self._db.execute(
            "SELECT number, steps, bytes FROM pack_thread WHERE number IN (0, ?)", (self._number,)
        ):
            yield number, (steps, size)

    def _limit_counts(self, counts: dict[int, tuple[int, int]]) -> None:
        over = counts[self._number][0] - self._budgets.max_snapshots
        if over > 0:
            self._remove(self._oldest("thread = ? AND label_key IS NULL", (self._number,), over))
            counts.update(self._counters())
        over = counts[0][0] - self._budgets.max_global_snapshots
        if over > 0:
            self._remove(self._oldest("label_key IS NULL", (), over))
            counts.update(self._counters())

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
