"""What people do in several scenarios."""

from __future__ import annotations

import re
from collections.abc import Sequence

from contract.scenarios.driver import Driver, Shown

_STEP = re.compile(r"turn (\d+), step (\d+) · ([0-9a-f]{8})")


async def talk(person: Driver, *texts: str) -> Shown:
    """Say things, each when the one before is answered; the last answer."""
    for text in texts:
        await person.say(text)
        shown = await person.seen(answer_to(text))
        await person.rest()
    return shown


def answer_to(text: str) -> str:
    """What the demo agent answers, as far as people need it here."""
    word, _, rest = text.partition(" ")
    return {"steps": f"done {rest}", "remember": "remembered", "history": "1."}.get(word, f"You said: {text}")


async def remembered(person: Driver) -> list[str]:
    """What the agent can see of what people said before, oldest first."""
    await person.say("history")
    answer = re.compile(r"^(\d+\. |\(nothing before this\))")
    await person.seen(answer)
    await person.rest()  # it may have been seen while it grew
    shown = await person.seen(answer)
    return re.findall(r"^\d+\. (.*)$", shown.text, re.MULTILINE)


async def steps(person: Driver, command: str = "/replay list") -> list[str]:
    """The steps on the path as the list shows them: 8 characters each, oldest first."""
    await person.command(command)
    shown = await person.seen(re.compile("steps? of this chat|No steps|no conversation", re.IGNORECASE))
    return [found[2] for found in _STEP.findall(shown.text)]


async def step(person: Driver, turn: int, number: int = 1) -> str:
    """The id of a step on the path, as the list shows it."""
    await person.command("/replay list")
    shown = await person.seen("Steps of this chat")
    found = {(int(t), int(n)): str(step_id) for t, n, step_id in _STEP.findall(shown.text)}
    return found[turn, number]


async def chats(person: Driver) -> str:
    """The list of somebody's chats as they see it."""
    await person.command("/chats")
    return (await person.seen(re.compile("Your chats|no chats"))).text


async def nothing_was_said(person: Driver) -> None:
    """Fail if the bot says anything to what was last done."""
    said: Sequence[Shown] = await person.answers()
    assert not said, [shown.text for shown in said]


async def restart(person: Driver) -> None:
    """End the service and begin it again."""
    await person.stop()
    await person.start()
