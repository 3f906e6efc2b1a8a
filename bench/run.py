"""`make bench`: our step store beside its peers, a row for each figure of the bar, exit 1 on a miss.

Each measurement is a process of its own with a file of its own; peers and ours take turns, and what is
compared are medians. Everything of ours is on: encoding, hashing, budgets, thinning, secure deletion.
Other programs on the machine distort small times: run it on a quiet one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PEER, PEER_NORMAL, OURS, OURS_FULL, OURS_DEFAULT = (
    "lg_sqlite",
    "lg_sqlite_normal",
    "adapter:Turnback",
    "adapter:TurnbackFull",
    "adapter:TurnbackDefaults",
)
NAMES = {
    PEER: "AsyncSqliteSaver",
    PEER_NORMAL: "AsyncSqliteSaver, synchronous=NORMAL",
    OURS: "Turnback",
    OURS_FULL: "Turnback, durability full",
    OURS_DEFAULT: "Turnback, default budgets",
}
TOLERANCE = 1.05

Result = dict[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of all repetitions, by workload and store, and the extra figures of `extras.py`."""

    medians: dict[tuple[str, str], Result]
    extras: dict[str, float]

    def get(self, workload: str, store: str, column: str) -> float:
        return self.medians[workload, store][column]

    def ratio(self, workload: str, column: str, ours: str = OURS, peer: str = PEER) -> float:
        return self.get(workload, ours, column) / self.get(workload, peer, column)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure: its value, what it is compared with, the bar and the aim; `more` where bigger is better."""

    name: str
    peer: str
    value: Callable[[Measured], float]
    unit: str
    ratio: Callable[[Measured], float]
    must: float
    aim: float | None = None
    more: bool = False

    def holds(self, measured: Measured) -> bool:
        ratio = self.ratio(measured)
        return ratio >= self.must / TOLERANCE if self.more else ratio <= self.must * TOLERANCE


def compared(
    name: str, workload: str, column: str, unit: str, must: float, aim: float | None = None, ours: str = OURS
) -> Row:
    """A figure that is a ratio to the same of the peer."""
    return Row(
        name,
        NAMES[PEER],
        lambda m: m.get(workload, ours, column),
        unit,
        lambda m: m.ratio(workload, column, ours),
        must,
        aim,
    )


def alone(name: str, key: str, unit: str, must: float) -> Row:
    """A figure that is compared with nothing but its limit."""
    return Row(name, "-", lambda m: m.extras[key], unit, lambda m: m.extras[key], must)


def sized(workload: str, must: float, aim: float) -> Row:
    return Row(
        f"bytes per step, naive JSON / ours, {workload}",
        "naive JSON",
        lambda m: m.get(workload, OURS, "disk"),
        "B",
        lambda m: m.extras[f"naive {workload}"] / m.get(workload, OURS, "disk"),
        must,
        aim,
        more=True,
    )


def floored(workload: str, must: float, aim: float) -> Row:
    return Row(
        f"bytes per step, ours / floor, {workload}",
        "zstd -19 of the whole once",
        lambda m: m.get(workload, OURS, "disk"),
        "B",
        lambda m: m.get(workload, OURS, "disk") / m.extras[f"floor {workload}"],
        must,
        aim,
    )


ROWS = (
    *(
        compared(f"capture p50, {workload}", workload, "p50", "us", must, aim)
        for workload, must, aim in (("W1", 0.30, 0.18), ("W2", 0.35, 0.22), ("W3", 0.50, 0.33), ("W4", 1.2, 0.35))
    ),
    compared("capture p50, W1, default budgets", "W1", "p50", "us", 0.30, 0.18, OURS_DEFAULT),
    compared("capture p99, W1", "W1", "p99", "us", 0.15, 0.08),
    compared("capture p50, W1, both synchronous=FULL", "W1", "p50", "us", 0.45, 0.33, OURS_FULL),
    Row(
        "growth of capture time, slope 100 to 500, W1",
        "(peer's own beside it)",
        lambda m: m.get("W1", PEER, "slope"),
        "",
        lambda m: m.get("W1", OURS, "slope"),
        0.35,
        0.15,
    ),
    sized("W1", 120, 300),
    sized("W4", 25, 60),
    floored("W1", 5, 2.3),
    floored("W2", 2.5, 1.7),
    compared("list the newest 50, W1", "W1", "list50", "us", 1 / 200),
    Row(
        "list the newest 50, W4 to W1 (flat in state size)",
        "Turnback",
        lambda m: m.get("W4", OURS, "list50"),
        "us",
        lambda m: m.get("W4", OURS, "list50") / m.get("W1", OURS, "list50"),
        2,
    ),
    *(
        compared(f"read one step, {workload}", workload, "read_new", "us", must, aim)
        for workload, must, aim in (("W1", 2, 1.2), ("W2", 3.5, 1.5), ("W4", 6.5, 2))
    ),
    compared("delete a thread, W1", "W1", "delete", "us", 1 / 100),
    Row(
        "8 writers, W3",
        NAMES[PEER],
        lambda m: m.get("W3 x8", OURS, "rate"),
        "steps/s",
        lambda m: m.ratio("W3 x8", "rate"),
        2,
        3,
        more=True,
    ),
    alone("longest stall of the event loop, W4", "stall", "ms", 50),
    alone("restore of a W1 thread p50", "restore", "ms", 10),
    alone("`/replay list` p50", "list", "ms", 5),
    alone("pieces decoded by a fork", "decoded", "", 0),
)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reps", type=int, default=5, help="repetitions, interleaved (5)")
    arguments.add_argument("--quick", action="store_true", help="one repetition: a first impression, not a judgement")
    arguments.add_argument("--rows", default="", help="only rows whose name contains this")
    given = arguments.parse_args()
    rows = [row for row in ROWS if given.rows in row.name]
    measured = measure(1 if given.quick else given.reps)
    print_table(measured, rows)
    missed = [row.name for row in rows if not row.holds(measured)]
    print(f"\n{len(rows) - len(missed)} of {len(rows)} hold" + (f"; MISS: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


def measure(reps: int) -> Measured:
    """Run everything `reps` times, in turns."""
    raw: dict[tuple[str, str], list[Result]] = {}
    extras: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for rep in range(reps):
            for label, store, arguments in runs(rep):
                print(f"\r{rep + 1}/{reps} {label} {NAMES[store]}".ljust(70), end="", file=sys.stderr, flush=True)
                raw.setdefault((label, store), []).append(child("peers/bench_peers.py", *arguments, "--tmp", folder))
            extras.append(child("extras.py"))
        sizes = child("extras.py", "--sizes")
    print("\r".ljust(72), end="\r", file=sys.stderr)
    figures = {**sizes, **medians([*extras, {key: sizes[key] for key in extras[0]}])}
    return Measured({key: medians(results) for key, results in raw.items()}, figures)


def runs(rep: int) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Label, store and arguments of each measurement of one repetition."""
    for workload in ("W1", "W2", "W3", "W4"):
        stores = [PEER, OURS, *([OURS_FULL, OURS_DEFAULT] if workload == "W1" else [])]
        for store in stores[rep % len(stores) :] + stores[: rep % len(stores)]:
            yield workload, store, ("--child", store, workload)
    for store in (PEER, OURS) if rep % 2 else (OURS, PEER):
        yield "W3 x8", store, ("--child", store, "W3", "--writers", "8")


def child(script: str, *arguments: str) -> Result:
    """Run a script in a process of its own; its last line of output is a JSON object of figures."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE / 'peers'}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def medians(results: Sequence[Result]) -> Result:
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def print_table(measured: Measured, rows: Sequence[Row]) -> None:
    """As a Markdown table."""
    print("| figure | peer | ours | ratio | must | aim | |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        value, ratio = row.value(measured), row.ratio(measured)
        sign = ">=" if row.more else "<="
        aim = "" if row.aim is None else number(row.aim)
        verdict = "ok" if row.holds(measured) else "MISS"
        shown = f"{number(value)} {row.unit}".strip()
        print(
            f"| {row.name} | {row.peer} | {shown} | {number(ratio)} | {sign} {number(row.must)} | {aim} | {verdict} |"
        )


def number(value: float) -> str:
    """Three digits that count; small ratios as fractions."""
    if 0 < value < 0.02:
        return f"1/{round(1 / value)}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
