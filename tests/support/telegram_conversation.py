"""The conversation that docs/telegram-transcript.md shows: every command, in a direct chat, a group and a forum.

    PYTHONPATH=tests python -m support.telegram_conversation > docs/telegram-transcript.md

writes it anew: the whole service as the settings put it together, with the demo agent, on the simulated Telegram.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from platforms.telegram.chats import Message
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer

from support.idling import idle
from support.telegram_bot import HASTY
from support.transcript import SECONDS, Transcript
from turnback.bots.telegram import TelegramAdapter
from turnback.bots.telegram.pacing import Pacer
from turnback.cli.compose import running
from turnback.cli.logs import configure_logs
from turnback.cli.platforms import Platforms
from turnback.config import load

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
US = "@turnback_bot"

TITLE = "# Conversations on Telegram, recorded"
ABOUT = """\
With the demo agent, on the simulated Telegram of the tests, which wrote this page and check that it is still true.
Buttons are in brackets; those with `↗` are links."""


@asynccontextmanager
async def bot(folder: Path, telegram: TelegramServer, admin: User) -> AsyncIterator[Platforms]:
    """The service as `turnback serve` puts it together."""
    environment = {
        "TURNBACK_STORAGE__PATH": str(folder / "data"),
        "TURNBACK_AGENT__SHELL": "unconfined",
        "TURNBACK_ACCESS__ALLOW": '["telegram:*"]',
        "TURNBACK_ACCESS__ADMINS": f'["telegram:{admin.id}"]',
        "TURNBACK_WEB__PUBLIC_URL": "https://chat.example.org",
    }
    ticks = iter(range(1_000_000_000))

    def clock() -> datetime:
        return BEGAN + timedelta(milliseconds=next(ticks))

    async with running(load(environment=environment), maintain=False, clock=clock) as composed:
        adapter = TelegramAdapter(
            telegram.token,
            composed.service.threads,
            api_base_url=telegram.base_url,
            pacer=Pacer(HASTY),
            clock=clock,
        )
        async with composed.platforms([adapter]) as platforms:
            async with asyncio.timeout(SECONDS):
                await platforms.presenter.connected(adapter.name)
            yield platforms


async def recorded(folder: Path) -> str:
    """The page."""
    async with TelegramServer(flood="off", privacy=False) as telegram:
        telegram.clock.advance(BEGAN.timestamp() - time.time())
        ann, bob = telegram.user("Ann"), telegram.user("Bob")
        async with bot(folder, telegram, ann) as running_bot:
            page = Transcript(telegram, partial(idle, running_bot))
            page.prose(TITLE, ABOUT)
            await direct_chat(page, ann)
            await group(page, ann, bob)
            await forum(page, ann)
        assert telegram.violations == []
    return page.text()


async def direct_chat(page: Transcript, ann: User) -> None:
    page.prose("## A direct chat")
    page.look_at(ann.private)
    first = await _talk(page, ann)
    shown = await _look(page, ann)
    await _go_back(page, ann, first, shown)
    await _branch(page, ann)
    await _approve_and_stop(page, ann)
    await _keep(page, ann)
    await _rest(page, ann)


async def _talk(page: Transcript, ann: User) -> Message:
    page.prose("Ann talks with the agent. Each answer saves steps.")
    first = await page.say(ann, "I want to plan a trip to Lisbon", "You said")
    await page.say(ann, "plan flights; hotel; museum", "planned 3")
    await page.say(ann, "remember I prefer trains", "remembered")
    await page.say(ann, "write notes.txt book the hotel first", "wrote notes.txt")
    return first


async def _look(page: Transcript, ann: User) -> Message:
    page.prose("She looks at what is saved, and opens a step.")
    await page.say(ann, "/replay", "saved here")
    shown = await page.say(ann, "/replay list", "Steps of this chat")
    await page.press(ann, "Turn 2, step 2", shown, "Asked:")
    await page.say(ann, f"/replay show {_step(shown, 3, 1)}", "Asked:")
    await page.say(ann, f"/replay compare {_step(shown, 2, 1)} {_step(shown, 3, 2)}", "in common")
    return shown


async def _go_back(page: Transcript, ann: User, first: Message, shown: Message) -> None:
    page.prose("She goes back: by a step's id, as a reply to the answer that she means, and by turns.")
    back = await page.say(ann, f"/replay {_step(shown, 2, 3)}", "Back at")
    await page.press(ann, "Bring back", back, "Brought back")
    await page.say(ann, "/replay restore", "Back at", to=first)
    await page.say(ann, "history", "1. I want")
    await page.say(ann, "/replay tree", "All steps")
    await page.say(ann, "/undo", "Took 1 turn back")
    await page.say(ann, "/redo", "rought back")
    await page.say(ann, f"/replay name {_step(shown, 2, 5)} three-stops", "★ three-stops")
    await page.say(ann, "/replay restore @three-stops", "Back at")
    await page.say(ann, "/replay lits", "/replay list")


async def _branch(page: Transcript, ann: User) -> None:
    page.prose("She branches a step into a chat of its own, goes on there, and comes back.")
    forked = await page.say(ann, "/fork @three-stops", "Forked")
    there = await page.press(ann, "Continue here", forked, "Now talking into")
    await page.say(ann, "plan train; hostel", "planned 2")
    await page.press(ann, "Back to origin", there, "Now talking into")
    chats = await page.say(ann, "/chats", "Your chats")
    await page.say(ann, f"/switch {_chat(chats, '⑂')}", "Now talking into")
    await page.say(ann, f"/switch {_chat(chats, '')}", "Now talking into")


async def _approve_and_stop(page: Transcript, ann: User) -> None:
    page.prose("What reaches outside the chat's folder asks first. What takes too long can be stopped.")
    card = await page.say(ann, "shell echo hello | tr a-z A-Z", "Approval needed", ends=False)
    await page.press(ann, "Approve", card, "Approved", "HELLO")
    ann.private.actions.clear()
    page.note(f"{ann.name}: slow 60")
    await ann.say("slow 60")
    await page.telegram.signal.until(lambda: ann.private.actions, lambda: "typing", SECONDS)
    await page.say(ann, "and a hotel?", "yours comes next", ends=False)
    await page.say(ann, "/stop", "Stopped", "You said: and a hotel?")


async def _keep(page: Transcript, ann: User) -> None:
    page.prose("What is remembered, and how long steps are kept. The last is for admins, and Ann is one.")
    await page.say(ann, "remember I travel in May", "remembered")
    facts = await page.say(ann, "/memory list", "Remembered here")
    await page.say(ann, f"/memory forget {_first(r'([0-9a-f]{8}) · turn', facts)}", "Forgotten")
    await page.press(ann, "Turn memory off", await page.say(ann, "/memory off", "Turn memory off?"), "Memory is off")
    await page.say(ann, "/memory on", "Memory is on")
    await page.say(ann, "/retention", "Kept here")
    await page.say(ann, "/retention retention_days 60", "Set:")


async def _rest(page: Transcript, ann: User) -> None:
    page.prose("A link to the page, the help, and the ways to begin again.")
    await page.say(ann, "/web", "signs you in")
    await page.say(ann, "/help", "What you can ask here")
    await page.say(ann, "steps 2", "done 2")
    await page.press(
        ann, "Delete 3 steps", await page.say(ann, "/replay clear", "Delete the 3 steps"), "Deleted 3 steps"
    )
    await page.say(ann, "/reset", re.compile("Start|start|begin"))
    question = await page.say(ann, "/delete", "Delete this chat")
    await page.press(ann, "Delete this chat", question, "Deleted this chat")


async def group(page: Transcript, ann: User, bob: User) -> None:
    page.prose("## A group", "Bob is in Ann's group. They speak to the bot by its name or by a reply to it.")
    team = page.telegram.supergroup("Team", [ann, bob])
    page.look_at(team)
    answer = await page.say(ann, f"{US} where do we eat?", "You said")
    await page.say(bob, "not the canteen again", then="(That was not for the bot. It neither answers nor keeps it.)")
    await page.say(bob, "plan pizza; soup", "planned 2", to=answer)
    await page.say(bob, "/replay list", "Steps of this chat")
    page.prose("Only admins of the group may go back in it, unless that is set otherwise.")
    await page.say(bob, "/undo", re.compile("Only|may"))
    back = await page.say(ann, "/undo", "Took 1 turn back")
    await page.press(ann, "Bring back", back, "Brought back")
    await page.say(bob, "/fork", "Forked", to=answer)
    page.prose("What only one person may see is shown in the direct chat.")
    await page.say(bob, "/web", "eyes only")


async def forum(page: Transcript, ann: User) -> None:
    page.prose(
        "## A forum", "Each topic talks into a thread of its own. `/fork here` opens another topic for the branch."
    )
    club = page.telegram.supergroup("Club", [ann], forum=True).make_bot_admin()
    ideas = club.topic("Ideas")
    page.look_at(club, ideas)
    page.prose("In the topic “Ideas”:")
    answer = await page.say(ann, f"{US} a name for the boat", "You said")
    await page.say(ann, f"{US} steps 1", "done 1")
    await page.say(ann, "/fork here", "It goes on beside", to=answer)
    branch = next(topic for topic in club.topics.values() if topic is not ideas)
    page.prose(f"In the topic “{branch.name}”, which the bot has opened:")
    page.look_at(club, branch)
    page.note_all()
    await page.say(ann, f"{US} history", "a name for the boat")
    await page.say(ann, "/replay list", "Steps of this chat")


def _step(shown: Message, turn: int, step: int) -> str:
    """The id of a step in a list."""
    return _first(rf"turn {turn}, step {step} · ([0-9a-f]{{8}})", shown)


def _chat(shown: Message, mark: str) -> str:
    """The id of the first chat in a list whose title begins like that; with no mark, of the last one."""
    lines = [line for line in shown.text.splitlines() if re.search("[0-9a-f]{8}", line)]
    line = next(line for line in lines if mark in line) if mark else lines[-1]
    return str(re.findall("[0-9a-f]{8}", line)[0])


def _first(pattern: str, shown: Message) -> str:
    return str(re.findall(pattern, shown.text)[0])


def main() -> None:
    configure_logs()  # to stderr
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(asyncio.run(recorded(Path(folder))))


if __name__ == "__main__":
    main()
