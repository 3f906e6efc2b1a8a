"""The people of one platform and its simulated server, in a process of their own; `chats.py` starts it.

    python bench/crowd.py telegram 67

It prints JSON, a line at a time: the environment of a service that is to speak with it; then, whenever it is
told "warm" or "talk SECONDS", what came of that.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the simulated servers live there

from platforms.core import Signal  # noqa: E402
from served import GROWS  # noqa: E402

PAUSE = (10.0, 20.0)
WARM_SECONDS, ANSWER_SECONDS = 60.0, 30.0

SETTLED_SECONDS = 2.0
"""The bot has said all when nothing changed for so long."""

WARM_UP = (("hello", "You said"), ("steps 2", "done 2"), ("/replay list", "Steps"), ("/undo", "Took"))

_STEP = re.compile(r"turn \d+, step \d+ · ([0-9a-f]{8})")
_ANSWERS = {
    "/replay list": re.compile(r"Steps of this chat|No steps are saved on this path"),
    "/replay restore": re.compile(r"Back at |Already there"),
    "/undo": re.compile(r"Took 1 turn back|There is nothing to undo"),
}


class Person(Protocol):
    """Somebody in their direct chat with the bot, whose key in the service is `place`."""

    @property
    def place(self) -> str: ...
    async def write(self, text: str) -> None:
        """Write a message, or choose a command as the platform's people do."""
        ...

    def told(self) -> Sequence[str]:
        """What the bot says there now."""
        ...


class Crowd(Protocol):
    """A simulated platform. `broken` are the rules that the service broke."""

    signal: Signal

    @classmethod
    def open(cls) -> AbstractAsyncContextManager[Crowd]: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def broken(self) -> Sequence[str]: ...
    async def ready(self) -> None:
        """Wait until people can write all that they want to, once the service is connected."""
        ...

    def person(self, name: str) -> Person: ...


@dataclass(eq=False)
class Talk:
    """One chat: who writes in it, what was written, and when."""

    name: str
    person: Person
    said: list[str] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)

    async def go(self, until: float, dice: random.Random, first: float) -> None:
        """Write now and then."""
        await asyncio.sleep(dice.uniform(0, first))
        while time.monotonic() < until:
            self.said.append(self._next(dice))
            self.asked.append(time.time())
            await self.person.write(self.said[-1])
            await asyncio.sleep(dice.uniform(*PAUSE))

    def _next(self, dice: random.Random) -> str:
        plain = f"message {len(self.said) + 1} of {self.name}"
        steps = [step for text in self.person.told() for step in _STEP.findall(text)]
        restore = f"/replay restore {dice.choice(steps)}" if steps else "/replay list"
        grows = f"{GROWS} {plain}, " + "and so on, " * 5
        kinds = [plain] * 4 + ["steps 2"] * 2 + [grows.strip()] + ["/replay list"] * 2 + [restore, "/undo"]
        return dice.choice(kinds) if self.said else plain

    def judge(self) -> tuple[list[str], list[str]]:
        """What was said and never answered, and what the bot said beyond that."""
        left, lost = list(self.person.told()), []
        for text in self.said:
            found = next((answer for answer in left if _answers(text, answer)), None)
            if found is None:
                lost.append(f"{self.name}: {text}")
            else:
                left.remove(found)
        return lost, [f"{self.name}: {text}" for text in left]


def _answers(text: str, answer: str) -> bool:
    for command, pattern in _ANSWERS.items():
        if text.startswith(command):
            return bool(pattern.search(answer))
    return answer == ("done 2" if text == "steps 2" else f"You said: {text}")


async def warm_up(crowd: Crowd) -> None:
    """Load what is loaded at the first use, as a server that has been up for a moment has."""
    await crowd.ready()
    first = crowd.person("First")
    for text, answer in WARM_UP:
        await first.write(text)
        await crowd.signal.until(
            lambda answer=answer: any(answer in told for told in first.told()),  # type: ignore[misc]
            lambda answer=answer: f"{answer!r} in {first.told()}; {crowd.broken}",  # type: ignore[misc]
            WARM_SECONDS,
        )


async def talk(crowd: Crowd, chats: int, seconds: float) -> dict[str, Any]:
    """Let everybody write, and wait until all of it is answered, if it is."""
    talks = [Talk(name, crowd.person(name)) for name in (f"User{number}" for number in range(chats))]
    dice, until = random.Random(1), time.monotonic() + seconds
    first = min(PAUSE[1], seconds / 2)
    await asyncio.gather(*(each.go(until, random.Random(dice.random()), first) for each in talks))
    with suppress(AssertionError):  # what is missing is found in a moment
        await crowd.signal.until(
            lambda: all(len(each.person.told()) >= len(each.said) for each in talks), lambda: "", ANSWER_SECONDS
        )
    await crowd.signal.settled(SETTLED_SECONDS)
    judged = [each.judge() for each in talks]
    return {
        "talks": [
            {"name": each.name, "place": each.person.place, "said": each.said, "asked": each.asked} for each in talks
        ],
        "lost": [text for lost, _ in judged for text in lost],
        "more": [text for _, more in judged for text in more],
        "broken": list(crowd.broken),
    }


async def serve(name: str, chats: int) -> None:
    """Do what is asked for, until nothing more is."""
    kind: type[Crowd] = getattr(importlib.import_module(f"crowds.{name}"), name.capitalize())
    async with kind.open() as crowd:
        print(json.dumps(dict(crowd.environment)), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            word, *rest = line.split()
            found = await (talk(crowd, chats, float(rest[0])) if word == "talk" else warm_up(crowd))
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
