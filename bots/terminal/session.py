"""A conversation in a terminal: what a typed line does, and what is shown of what happens.

It knows nothing of keys or colours, so that scripts and people drive the same thing.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from turnback.bots.commands import Answer, Delete, NotACommand, NotForUs, Parsed, Stop, Switch
from turnback.bots.grammar import parse
from turnback.bots.telling import telling_apart
from turnback.bots.terminal.client import MISSED, Client, Json, Problem, Told
from turnback.bots.terminal.outcomes import Asked, Outcomes
from turnback.bots.terminal.screens import Kind, Screen
from turnback.bots.words import plain, printable

LISTEN_SECONDS = 5.0
"""How long a chat may take to be listened to before it is shown without."""

SETTLE_SECONDS = 2.0
"""How long the shown end of a turn may lag behind the answer to its message."""

_YES, _NO = {"y", "yes"}, {"n", "no"}
_LEAVE = {"/quit", "/exit"}
_PRESS = re.compile(r"/([1-9][0-9]?)")


class Session:
    """One person, one thread at a time."""

    def __init__(self, client: Client, screen: Screen) -> None:
        self.steps: Sequence[Json] = ()
        self.chats: Sequence[Json] = ()
        self.thread = ""
        self._client = client
        self._screen = screen
        self._buttons: Sequence[Json] = ()
        self._gates: list[Json] = []
        self._carded: set[str] = set()
        self._sent: list[str] = []
        self._streamed = ""
        self._outcomes = Outcomes()
        self._listening: asyncio.Task[None] | None = None
        self._quiet_until = 0.0
        self._work: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether something that was sent is not answered yet."""
        return bool(self._work) or bool(self._gates)

    async def open(self, thread: str | None, *, new: bool) -> None:
        """Begin: in the thread named, in a new one, or in my newest."""
        self.chats = await self._client.threads()
        if thread is not None:
            fitting = self._named(thread)
            if len(fitting) != 1:
                raise Problem("not_found", f"{'Several' if fitting else 'None'} of your chats begin with {thread}.")
            await self._enter(await self._client.thread(fitting[0]))
        elif self.chats and not new:
            await self._enter(self.chats[0])
        else:
            await self._enter(await self._client.create_thread())

    async def close(self) -> None:
        """Stop listening."""
        tasks = [*self._work, *([self._listening] if self._listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._screen.end()

    def leaves(self, line: str) -> bool:
        """Whether a line asks to leave."""
        return plain(line.strip()) in _LEAVE

    async def handle(self, line: str, *, wait: bool) -> None:
        """Do what a line says. With `wait`, its answer is complete when this returns."""
        word = plain(line.strip())
        if not word:
            return
        if (self._gates or self._asked) and word in _YES | _NO:
            await self._decide(word in _YES, wait=wait)
        elif press := _PRESS.fullmatch(word):
            await self._press(int(press[1]))
        else:
            await self._typed(line, wait=wait)

    async def interrupt(self) -> bool:
        """Ctrl-C: stop what runs; False if nothing does."""
        if not self.busy:
            return False
        self._gates.clear()
        try:
            await self._client.stop(self.thread)
        except Problem as problem:
            self._screen.say(problem.detail, Kind.ERROR)
        return True

    async def idle(self) -> None:
        """Wait until everything that was sent is answered."""
        while self._work:
            await asyncio.wait(set(self._work))

    async def past(self) -> list[str]:
        """What was said here before by the user, oldest first."""
        return [m["text"] for m in await self._client.messages(self.thread) if m["role"] == "user"]

    # what a line does

    @property
    def _asked(self) -> bool:
        return bool(self._buttons) and str(self._buttons[0].get("command", "")).startswith("/confirm ")

    async def _typed(self, line: str, *, wait: bool) -> None:
        parsed = parse(line)
        if isinstance(parsed, NotACommand):
            self._buttons = ()
            await self._work_on(self._say(line.strip("\r\n")), wait=wait)
        elif isinstance(parsed, NotForUs):
            self._screen.say("That names another bot. /help shows what can be asked here.", Kind.ERROR)
        else:
            await self._command(line, parsed)

    async def _command(self, line: str, parsed: Parsed) -> None:
        try:
            if isinstance(parsed, Switch):
                await self._switch(parsed.thread)
                return
            if isinstance(parsed, Stop):
                self._outcomes.stop()
            self._quiet_until = math.inf  # what happens now is this command's own doing
            try:
                reply = await self._client.command(self.thread, line)
            finally:
                self._quiet_until = asyncio.get_running_loop().time() + SETTLE_SECONDS
            if not isinstance(parsed, Stop) or self._outcomes.stopped(str(reply["text"])):
                self._show_reply(reply)
            if isinstance(parsed, Answer | Delete):
                await self._leave_if_gone()
            await self._refresh()
        except Problem as problem:
            self._screen.say(problem.detail, Kind.ERROR)

    async def _press(self, number: int) -> None:
        if number > len(self._buttons):
            self._screen.say("There is no such button now.", Kind.ERROR)
            return
        button = self._buttons[number - 1]
        if "url" in button:
            self._screen.say(str(button["url"]), Kind.REPLY)
        else:
            await self._command(str(button["command"]), parse(str(button["command"])))

    async def _decide(self, yes: bool, *, wait: bool) -> None:
        if self._gates:
            gate = self._gates.pop(0)
            await self._work_on(self._approve(str(gate["id"]), yes), wait=wait)
            return
        await self._press(1 if yes else 2)

    async def _work_on(self, doing: Any, *, wait: bool) -> None:
        task = asyncio.ensure_future(doing)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        if wait:
            await asyncio.wait({task})

    async def _say(self, text: str) -> None:
        self._sent.append(text)
        await self._follow(self._client.send(self.thread, text))

    async def _approve(self, gate: str, yes: bool) -> None:
        await self._follow(self._client.decide(self.thread, gate, yes))

    async def _follow(self, asking: Any) -> None:
        with self._outcomes.asked() as asked:
            try:
                result = await asking
            except Problem as problem:
                self._screen.say(problem.detail, Kind.ERROR)
                return
            await self._settle(asked, result)

    async def _settle(self, asked: Asked, result: Json) -> None:
        """See that all of a turn's outcome is shown, also where the event stream was lost."""
        turn, gates = result.get("turn_index"), result.get("gates") or ()

        def is_shown() -> bool:
            return turn is None or turn in asked.over or any(gate["id"] in self._carded for gate in gates)

        with suppress(TimeoutError):
            await asyncio.wait_for(self._outcomes.until(is_shown), SETTLE_SECONDS)
        for gate in gates:
            self._card(gate)
        reply = str(result.get("reply") or "")
        if reply and self._outcomes.answered(asked, turn, reply):
            self._show_answer(reply)
        if result.get("status") == "returned":
            self._screen.say("The chat was moved while that waited, so it was not sent. Send it again.", Kind.ERROR)

    # between threads

    async def _enter(self, thread: Json) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self.thread = str(thread["thread_id"])
        self._buttons, self._gates = (), []
        ready = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(self.thread, ready))
        await asyncio.wait(
            {asyncio.ensure_future(ready.wait()), self._listening},
            timeout=LISTEN_SECONDS,
            return_when="FIRST_COMPLETED",
        )
        self._screen.say(f"{printable(str(thread['title']), 80)} ({self.thread[:8]})", Kind.HINT)
        await self._refresh()

    async def _refresh(self) -> None:
        """What completion offers; it does without what cannot be had."""
        with suppress(Problem):
            self.chats = await self._client.threads()
            self.steps = await self._client.steps(self.thread)

    async def _switch(self, wanted: str) -> None:
        self.chats = await self._client.threads()
        fitting = self._named(wanted)
        if len(fitting) != 1:
            several = "Several of your chats begin like that" if fitting else "You have no such chat"
            names = ", ".join(telling_apart(fitting).values())
            self._screen.say(f"{several}{': ' + names if names else '.'} /chats shows them.", Kind.ERROR)
            return
        before = self.thread
        thread = await self._client.thread(fitting[0])
        await self._enter(thread)
        for message in (await self._client.messages(self.thread))[-2:]:
            self._screen.say(f"{message['role']}: {message['text']}", Kind.NOTE)
        origin = (thread.get("forked_from") or {}).get("thread_id")
        label, back = ("Back to origin", origin) if origin in self._ids() else ("Back", before)
        if back != self.thread:
            self._show_buttons([{"label": label, "command": f"/switch {back}"}])

    def _ids(self) -> list[str]:
        return [str(chat["thread_id"]) for chat in self.chats]

    def _named(self, wanted: str) -> list[str]:
        """The chats that an id, or at least 4 characters of one, can mean."""
        ids, begun = self._ids(), plain(wanted)
        return [i for i in ids if i == begun] or [i for i in ids if len(begun) >= 4 and i.startswith(begun)]

    async def _leave_if_gone(self) -> None:
        try:
            await self._client.thread(self.thread)
        except Problem as problem:
            if problem.code != "not_found":
                raise
            await self._enter(await self._client.create_thread())

    # what is shown

    async def _listen(self, thread: str, ready: asyncio.Event) -> None:
        try:
            async for told in self._client.events(thread, ready):
                self._happened(told)
                self._outcomes.looked()
        except Problem as problem:
            self._screen.say(f"No live updates: {problem.detail}", Kind.NOTE)

    def _happened(self, told: Told) -> None:
        data = told.data
        if told.name == "delta" and not self._outcomes.muted:
            self._streamed += str(data["text"])
            self._screen.stream(str(data["text"]))
        elif told.name == "message":
            self._message(data["message"])
        elif told.name == "approval":
            if data["gate"].get("status", "waiting") == "waiting":
                self._card(data["gate"])
        elif told.name == "turn_started":
            self._streamed = ""
            self._outcomes.started(data["turn_index"])
        elif told.name == "turn_finished":
            self._end_turn()
            self._outcomes.ended(data["turn_index"])
        elif told.name == "snapshot":
            self.steps = [*self.steps, data["snapshot"]]
        elif told.name == "reload":
            self._outcomes.lost()
            self._reload(data)
        elif told.name == MISSED:
            self._outcomes.lost()

    def _message(self, message: Mapping[str, Any]) -> None:
        text = str(message["text"])
        if message["role"] == "user":
            if text in self._sent:
                self._sent.remove(text)
            else:
                self._screen.say(f"(from elsewhere) {text}", Kind.NOTE)
        elif not self._outcomes.heard(message["turn_index"], text):
            return
        elif message["role"] == "assistant":
            self._show_answer(text)
        else:
            self._screen.say(text, Kind.NOTE)

    def _show_answer(self, text: str) -> None:
        if self._streamed and self._streamed.strip().endswith(text.strip()):
            self._screen.end()
        elif text:
            self._screen.say(text, Kind.ANSWER)
        self._streamed = ""

    def _end_turn(self) -> None:
        self._screen.end()
        self._gates.clear()

    def _card(self, gate: Mapping[str, Any]) -> None:
        if gate["id"] in self._carded:
            return
        self._carded.add(str(gate["id"]))
        self._gates.append(dict(gate))
        args = (
            ", ".join(f"{k}={v}" for k, v in gate["args"].items()) if isinstance(gate["args"], dict) else gate["args"]
        )
        self._screen.say(f"Approval: {gate['tool']} {args}\nApprove? y/n", Kind.CARD)

    def _reload(self, data: Mapping[str, Any]) -> None:
        if asyncio.get_running_loop().time() < self._quiet_until:
            return
        head = str(data.get("head") or "")[:8]
        self._screen.say(f"This chat was moved from elsewhere{': it stands at ' + head if head else ''}.", Kind.NOTE)

    def _show_reply(self, reply: Json) -> None:
        self._screen.say(str(reply["text"]), Kind.ERROR if reply.get("error") else Kind.REPLY)
        self._show_buttons(reply.get("buttons") or ())

    def _show_buttons(self, buttons: Sequence[Json]) -> None:
        self._buttons = buttons
        for number, button in enumerate(buttons, 1):
            target = button.get("url") or ""
            self._screen.say(f"/{number} {button['label']}{'  ' + target if target else ''}", Kind.HINT)
        if self._asked:
            self._screen.say("y/n?", Kind.CARD)
