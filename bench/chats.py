"""Two hundred chats on Telegram at once, for a minute.

    python bench/chats.py [--chats 200] [--seconds 60]

In each somebody writes every 10 to 20 s: plain words, a turn of three steps, an answer that grows, a list, a
way back to a step that was listed, an undo. Turnback runs as `turnback serve` puts it together, in a process
of its own, against the simulated Bot API server in this one, which counts the flood limits.

Prints, and exits 1 unless they hold: no command and no answer lost or shown twice, no turn lost or run
twice, no broken rule of the platform, no edit that overtakes a first answer, and 95 of 100 first answers
handed to the rate limiter within 300 ms of Telegram's handing out the update. `--profile FILE` writes
what the service spent its time on, and makes it slow.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the simulated server lives there

from platforms.telegram.people import User  # noqa: E402
from platforms.telegram.server import TelegramServer  # noqa: E402
from served import GROWS, READY  # noqa: E402

from turnback.core import open_service  # noqa: E402
from turnback.core.models import Surface  # noqa: E402

P95_BAR = 0.300
NOTES = "notes.json"
PAUSE = (10.0, 20.0)
START_SECONDS, ANSWER_SECONDS, END_SECONDS = 60.0, 30.0, 20.0

SETTLED_SECONDS = 2.0
"""The bot has said all when nothing changed for so long."""

EDITS_YIELD = 3.0
"""A first answer that comes so long after an edit was asked for need not go before it: no edit starves."""

AT_ONCE = 0.02
"""What is let go in one go is noted within so many seconds, in any order."""

_STEP = re.compile(r"turn \d+, step \d+ · ([0-9a-f]{8})")
_ANSWERS = {
    "/replay list": re.compile(r"Steps of this chat|No steps are saved on this path"),
    "/replay restore": re.compile(r"Back at |Already there"),
    "/undo": re.compile(r"Took 1 turn back|There is nothing to undo"),
}


@dataclass(eq=False)
class Talk:
    """One chat: who writes in it, and what was written."""

    user: User
    said: list[str] = field(default_factory=list)

    async def write(self, until: float, dice: random.Random, first: float) -> None:
        await asyncio.sleep(dice.uniform(0, first))
        while time.monotonic() < until:
            self.said.append(self._next(dice))
            await self.user.say(self.said[-1])
            await asyncio.sleep(dice.uniform(*PAUSE))

    def _next(self, dice: random.Random) -> str:
        number = len(self.said) + 1
        plain = f"message {number} of {self.user.name}"
        steps = [step for message in self.user.private.said() for step in _STEP.findall(message.text)]
        restore = f"/replay restore {dice.choice(steps)}" if steps else "/replay list"
        grows = f"{GROWS} {plain}, " + "and so on, " * 5
        kinds = [plain] * 4 + ["steps 2"] * 2 + [grows.strip()] + ["/replay list"] * 2 + [restore, "/undo"]
        return dice.choice(kinds) if self.said else plain

    def judge(self) -> tuple[list[str], list[str]]:
        """What was said and never answered, and what the bot said beyond that."""
        left, lost = [message.text for message in self.user.private.said()], []
        for text in self.said:
            found = next((answer for answer in left if _answers(text, answer)), None)
            if found is None:
                lost.append(f"{self.user.name}: {text}")
            else:
                left.remove(found)
        return lost, [f"{self.user.name}: {text}" for text in left]


@dataclass(kw_only=True)
class Found:
    """What came of it."""

    lost: list[str]
    more: list[str]
    turns: list[str]
    violations: list[str]
    overtaken: list[str]
    seconds: list[float]
    edits: int
    cpu: float


def _answers(text: str, answer: str) -> bool:
    for command, pattern in _ANSWERS.items():
        if text.startswith(command):
            return bool(pattern.search(answer))
    return answer == ("done 2" if text == "steps 2" else f"You said: {text}")


async def talk(telegram: TelegramServer, chats: int, seconds: float) -> list[Talk]:
    """Let everybody write, and wait until all of it is answered, if it is."""
    talks = [Talk(telegram.user(f"User{number}")) for number in range(chats)]
    dice, until = random.Random(1), time.monotonic() + seconds
    first = min(PAUSE[1], seconds / 2)
    await asyncio.gather(*(each.write(until, random.Random(dice.random()), first) for each in talks))
    with suppress(AssertionError):  # what is missing is found in a moment
        await telegram.signal.until(
            lambda: all(len(each.user.private.said()) >= len(each.said) for each in talks), lambda: "", ANSWER_SECONDS
        )
    await telegram.signal.settled(SETTLED_SECONDS)
    return talks


@asynccontextmanager
async def served(folder: Path, telegram: TelegramServer, profile: Path | None) -> AsyncIterator[psutil.Process]:
    """The service; its log is beside its data."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TURNBACK_")},
        "TURNBACK_TELEGRAM__TOKEN": telegram.token,
        "TURNBACK_TELEGRAM__API_BASE_URL": telegram.base_url,
        "TURNBACK_ACCESS__ALLOW": '["telegram:*"]',
        "TURNBACK_AGENT__KIND": "served:Growing",
    }
    measured = ["-m", "cProfile", "-o", str(profile)] if profile else []
    command = [*measured, str(HERE / "served.py"), NOTES]
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=folder, env=env, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(START_SECONDS):
                line = await process.stdout.readline()
            if READY not in line.decode():
                raise SystemExit((folder / "log").read_text(encoding="utf-8"))
            yield psutil.Process(process.pid)
            process.terminate()
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def warm_up(telegram: TelegramServer) -> None:
    """Load what is loaded at the first use, as a server that has been up for a moment has."""
    first = telegram.user("First")
    for text, answer in (("hello", "You said"), ("steps 2", "done 2"), ("/replay list", "Steps"), ("/undo", "Took")):
        await first.say(text)
        await first.private.seen(answer, seconds=START_SECONDS)


async def check_turns(folder: Path, talks: Sequence[Talk]) -> list[str]:
    """Every message that is no command must have made one turn; those taken back count, too."""
    wrong = []
    async with open_service(folder / "data", maintain=False) as service:
        for each in talks:
            wanted = Counter(text for text in each.said if not text.startswith("/"))
            thread_id = await service.threads.bound(Surface.TELEGRAM, str(each.user.id))
            rows = await service.threads.transcript(thread_id, everything=True) if thread_id else ()
            made = Counter(row.text for row, _ in rows if row.role == "user")
            if made != wanted:
                wrong.append(f"{each.user.name}: lost {wanted - made}, more {made - wanted}")
    return wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message or an edit: when it was handed to the rate limiter, and when that let it go."""

    method: str
    chat: int
    handed: float
    went: float = float("inf")


def delays(talks: Sequence[Talk], answers: Sequence[Sent], telegram: TelegramServer) -> list[float]:
    """From an update's being handed out to the answer's being handed to the rate limiter."""
    asked, answered = defaultdict[int, list[float]](list), defaultdict[int, list[float]](list)
    for update in telegram.updates.history:
        asked[update["message"]["chat"]["id"]].append(telegram.updates.handed_at[update["update_id"]])
    for answer in answers:
        answered[answer.chat].append(answer.handed)
    both = [(each.user.id, answered[each.user.id]) for each in talks]
    return [answer - at for chat, times in both for at, answer in zip(asked[chat], times, strict=False)]


def overtaken(answers: Sequence[Sent], edits: Sequence[Sent]) -> list[str]:
    """First answers that still waited when an edit went, which had to wait for them."""
    answers = sorted(answers, key=lambda answer: answer.handed)
    times = [answer.handed for answer in answers]
    return [
        f"an answer waited {answer.went - answer.handed:.2f} s, and an edit went {answer.went - edit.went:.2f} s before"
        for edit in edits
        for answer in answers[: bisect.bisect_left(times, min(edit.went - AT_ONCE, edit.handed + EDITS_YIELD))]
        if answer.went > edit.went + AT_ONCE
    ]


async def run(chats: int, seconds: float, profile: Path | None) -> tuple[list[Talk], Found]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with TelegramServer(flood="count") as telegram:
            async with served(folder, telegram, profile) as process:
                await warm_up(telegram)
                began, used = time.monotonic(), _cpu(process)
                talks = await talk(telegram, chats, seconds)
                cpu = (_cpu(process) - used) / (time.monotonic() - began)
            sent = [Sent(**note) for note in json.loads((folder / NOTES).read_text(encoding="utf-8"))]
            answers = [each for each in sent if each.method == "sendMessage"]
            edits = [each for each in sent if each.method == "editMessageText"]
            judged = [each.judge() for each in talks]
            return talks, Found(
                lost=[text for lost, _ in judged for text in lost],
                more=[text for _, more in judged for text in more],
                turns=await check_turns(folder, talks),
                violations=[*telegram.violations, *telegram.refusals],
                overtaken=overtaken(answers, edits),
                seconds=delays(talks, answers, telegram),
                edits=len(edits),
                cpu=cpu,
            )


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def report(talks: Sequence[Talk], found: Found, seconds: float) -> bool:
    """Print it; whether all of it holds."""
    messages = sum(len(each.said) for each in talks)
    cuts = statistics.quantiles(found.seconds, n=100) if len(found.seconds) > 1 else [float("inf")] * 99
    p50, p95 = cuts[49], cuts[94]
    rows = [
        ("messages without their answer", len(found.lost), 0, not found.lost),
        ("answers too many", len(found.more), 0, not found.more),
        ("chats with lost or doubled turns", len(found.turns), 0, not found.turns),
        ("broken rules of Telegram", len(found.violations), 0, not found.violations),
        ("first answers overtaken by edits", len(found.overtaken), 0, not found.overtaken),
        ("update to rate limiter, p95, ms", round(p95 * 1000), round(P95_BAR * 1000), p95 < P95_BAR),
    ]
    print(
        f"{len(talks)} chats, {seconds:.0f} s: {messages} messages, {found.edits} edits; p50 {p50 * 1000:.0f} ms, "
        f"longest {max(found.seconds, default=0) * 1000:.0f} ms; the service took {found.cpu:.0%} of a core"
    )
    for name, value, bar, ok in rows:
        print(f"{name:34} {value!s:>10}   bar {bar!s:>6}   {'ok' if ok else 'MISS'}")
    for what in (found.lost, found.more, found.turns, found.violations, found.overtaken):
        for sentence in what[:5]:
            print(f"  {sentence[:200]}")
    return all(ok for *_, ok in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--profile", type=lambda path: Path(path).absolute(), default=None)
    given = parser.parse_args()
    talks, found = asyncio.run(run(given.chats, given.seconds, given.profile))
    sys.exit(0 if report(talks, found, given.seconds) else 1)


if __name__ == "__main__":
    main()
