"""Two hundred chats on Telegram, Discord and Slack at once, for a minute, with one service.

    python bench/chats.py [--platforms telegram,discord,slack] [--chats 200] [--seconds 60]

In each somebody writes every 10 to 20 s: plain words, a turn of three steps, an answer that grows, a list, a
way back to a step that was listed, an undo. Turnback runs as `turnback serve` puts it together, in a process
of its own; each platform is simulated in another one, and counts its limits (`crowds/`).

Prints, and exits 1 unless they hold: no command and no answer lost or shown twice, no turn lost or run twice,
no broken rule of a platform, no edit that overtakes a first answer that has to wait, the event loop never held
up for long, and on each platform and over all 95 of 100 first answers handed over within 300 ms of what was
written. `--profile FILE` writes what the service spent its time on, and makes it slow.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from served import READY

from turnback.core import open_service
from turnback.core.models import Surface

HERE = Path(__file__).parent
PLATFORMS = ("telegram", "discord", "slack")
NOTES = "notes.json"
P95_BAR, STALL_BAR = 0.300, 0.100
START_SECONDS, END_SECONDS = 60.0, 20.0

WAITED = 0.5
"""A first answer that took so many seconds had to wait for a platform's limit."""

LONG_LINE = 1 << 26


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of one platform. `seconds`: from what was written to the handing over of its answer."""

    name: str
    talks: Sequence[Mapping[str, Any]]
    lost: Sequence[str]
    more: Sequence[str]
    broken: Sequence[str]
    turns: Sequence[str]
    seconds: Sequence[float]
    edits: int
    overtaken: Sequence[str]

    @property
    def messages(self) -> int:
        return sum(len(each["said"]) for each in self.talks)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of all. `cpu`: seconds that the service computed.

    `stalls`: how late its event loop was at times, and how long it computed meanwhile.
    """

    platforms: Sequence[Found]
    seconds: float
    cpu: float
    stalls: Sequence[tuple[float, float]]


class Crowd:
    """One platform's process (`crowd.py`)."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, environment: Mapping[str, str]) -> None:
        self.name, self.environment, self._process = name, environment, process

    @classmethod
    @asynccontextmanager
    async def open(cls, name: str, chats: int) -> AsyncIterator[Crowd]:
        """Start it."""
        async with _process(HERE / "crowd.py", name, str(chats), stdin=asyncio.subprocess.PIPE) as process:
            yield cls(name, process, await _answer(process))

    async def ask(self, what: str) -> Any:
        """Have it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n".encode())
        return await _answer(self._process)


@asynccontextmanager
async def _process(*command: object, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *map(str, command), stdout=asyncio.subprocess.PIPE, limit=LONG_LINE, **options
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _answer(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise SystemExit("a simulated platform has ended")
    return json.loads(line)


@asynccontextmanager
async def served(folder: Path, crowds: Sequence[Crowd], profile: Path | None) -> AsyncIterator[psutil.Process]:
    """The service; its log is beside its data."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TURNBACK_")}
    for crowd in crowds:
        env |= crowd.environment
    env |= {
        "TURNBACK_ACCESS__ALLOW": json.dumps([f"{crowd.name}:*" for crowd in crowds]),
        "TURNBACK_AGENT__KIND": "served:Growing",
    }
    measured = ["-m", "cProfile", "-o", profile] if profile else []
    with (folder / "log").open("wb") as log:
        async with _process(*measured, HERE / "served.py", NOTES, cwd=folder, env=env, stderr=log) as process:
            assert process.stdout is not None
            line = b""
            with suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    line = await process.stdout.readline()
            if READY not in line.decode():
                raise SystemExit((folder / "log").read_text(encoding="utf-8"))
            yield psutil.Process(process.pid)
            process.terminate()
            async with asyncio.timeout(END_SECONDS):
                await process.wait()


async def run(platforms: Sequence[str], chats: int, seconds: float, profile: Path | None) -> Run:
    """Let everybody write, and see what came of it."""
    shares = [chats // len(platforms) + (number < chats % len(platforms)) for number in range(len(platforms))]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        crowds = [
            await stack.enter_async_context(Crowd.open(name, share))
            for name, share in zip(platforms, shares, strict=True)
        ]
        async with served(folder, crowds, profile) as process:
            await asyncio.gather(*(crowd.ask("warm") for crowd in crowds))
            began, used = time.time(), _cpu(process)
            results = await asyncio.gather(*(crowd.ask(f"talk {seconds}") for crowd in crowds))
            took, cpu = time.time() - began, _cpu(process) - used
        notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        found = [
            await judge(folder, crowd.name, result, notes["said"])
            for crowd, result in zip(crowds, results, strict=True)
        ]
        stalls = [(late, used) for at, late, used in notes["late"] if at > began]
        return Run(platforms=found, seconds=took, cpu=cpu, stalls=stalls)


async def judge(folder: Path, name: str, result: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> Found:
    """What came of one platform, of which `result` is what its people saw."""
    mine = [each for each in said if each["surface"] == name]
    answers = [each for each in mine if each["kind"] == "answer"]
    edits = [each for each in mine if each["kind"] == "edit"]
    return Found(
        name=name,
        talks=result["talks"],
        lost=result["lost"],
        more=result["more"],
        broken=result["broken"],
        turns=await wrong_turns(folder, Surface(name), result["talks"]),
        seconds=delays(result["talks"], answers),
        edits=len(edits),
        overtaken=overtaken(answers, edits),
    )


async def wrong_turns(folder: Path, surface: Surface, talks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every message that is no command must have made one turn; those taken back count, too."""
    wrong = []
    async with open_service(folder / "data", maintain=False) as service:
        for each in talks:
            wanted = Counter(text for text in each["said"] if not text.startswith("/"))
            thread_id = await service.threads.bound(surface, each["place"])
            rows = await service.threads.transcript(thread_id, everything=True) if thread_id else ()
            made = Counter(row.text for row, _ in rows if row.role == "user")
            if made != wanted:
                wrong.append(f"{each['name']}: lost {wanted - made}, more {made - wanted}")
    return wrong


def delays(talks: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]) -> list[float]:
    """From what was written to the first answer that was handed over before the next was written."""
    handed = defaultdict[str, list[float]](list)
    for answer in answers:
        handed[answer["place"]].append(answer["handed"])
    found = []
    for each in talks:
        times = sorted(handed[each["place"]])
        for at, until in zip(each["asked"], [*each["asked"][1:], float("inf")], strict=True):
            first = bisect.bisect_left(times, at)
            if first < len(times) and times[first] < until:
                found.append(times[first] - at)
    return found


def overtaken(answers: Sequence[Mapping[str, Any]], edits: Sequence[Mapping[str, Any]]) -> list[str]:
    """First answers that had to wait, while an edit that was asked for later went."""
    return [
        f"an answer took {answer['done'] - answer['handed']:.2f} s, and a later edit was done before"
        for answer in answers
        if answer["done"] - answer["handed"] > WAITED
        and any(answer["handed"] < edit["handed"] and edit["done"] < answer["done"] for edit in edits)
    ]


def report(found: Run) -> bool:
    """Print it; whether all of it holds."""
    platforms, messages = found.platforms, sum(each.messages for each in found.platforms)
    print(
        f"{sum(len(each.talks) for each in platforms)} chats, {messages} messages, "
        f"{sum(each.edits for each in platforms)} edits in {found.seconds:.0f} s; the service computed "
        f"{found.cpu:.1f} s: {found.cpu / found.seconds:.0%} of a core, {1000 * found.cpu / max(messages, 1):.1f} ms "
        "a message"
    )
    print(f"{'':36}" + "".join(f"{name:>10}" for name in [*(each.name for each in platforms), "all", "bar"]))
    parts = [*(each.seconds for each in platforms), [second for each in platforms for second in each.seconds]]
    held = [
        _row("written to first answer, p50, ms", [1000 * percentile(part, 50) for part in parts]),
        _row("written to first answer, p95, ms", [1000 * percentile(part, 95) for part in parts], 1000 * P95_BAR),
        _row("messages without their answer", _counts([each.lost for each in platforms]), 0),
        _row("answers too many", _counts([each.more for each in platforms]), 0),
        _row("chats with lost or doubled turns", _counts([each.turns for each in platforms]), 0),
        _row("broken rules of the platform", _counts([each.broken for each in platforms]), 0),
        _row("first answers overtaken by edits", _counts([each.overtaken for each in platforms]), 0),
        _stalls(found.stalls),
    ]
    for each in platforms:
        for what in (each.lost, each.more, each.turns, each.broken, each.overtaken):
            for sentence in what[:5]:
                print(f"  {each.name}: {sentence[:200]}")
    return all(held)


def _row(name: str, values: Sequence[float], bar: float | None = None) -> bool:
    """Print a line; whether no value is over the bar."""
    ok = bar is None or all(value <= bar for value in values)
    tail = "" if bar is None else f"{bar:>10.0f}   {_verdict(ok)}"
    print(f"{name:36}" + "".join(f"{value:>10.0f}" for value in values) + tail)
    return ok


def _counts(parts: Sequence[Sequence[str]]) -> list[int]:
    return [*map(len, parts), sum(map(len, parts))]


def _stalls(stalls: Sequence[tuple[float, float]]) -> bool:
    late, used = zip(*stalls, strict=True) if stalls else ((0.0,), (0.0,))
    ok = max(late) <= STALL_BAR
    print(
        f"event loop held up for {1000 * max(late):.0f} ms at most (it computed {1000 * max(used):.0f} at a stretch), "
        f"{sum(each > STALL_BAR for each in late)} times over {1000 * STALL_BAR:.0f}   {_verdict(ok)}"
    )
    return ok


def _verdict(ok: bool) -> str:
    return "ok" if ok else "MISS"


def percentile(values: Sequence[float], percent: int) -> float:
    """Of fewer than two, the worst there is."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else float("inf")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--platforms", type=lambda names: names.split(","), default=list(PLATFORMS))
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--profile", type=lambda path: Path(path).absolute(), default=None)
    given = parser.parse_args()
    sys.exit(0 if report(asyncio.run(run(given.platforms, given.chats, given.seconds, given.profile))) else 1)


if __name__ == "__main__":
    main()
