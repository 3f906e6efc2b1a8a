"""One turn, shown at the place where it was asked: typing, the answer as it grows, approvals, the end.

What happens in the turn is noted as it comes, which never waits; a task of the turn's own shows it. So a
place that is slow, or cannot be reached, holds up neither the turn nor any other place. What is shown is
always the newest: pieces that come while the platform is busy go out together. An answer that is there
at once is shown whole, since an edit of it would only cost the place its limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from turnback.bots import cards
from turnback.bots.addressing import ANSWER, NOTE, REPLY
from turnback.bots.origins import Origin
from turnback.bots.platform import Outlet, Said, Unreachable
from turnback.bots.stage import Stage, Standing
from turnback.core.errors import StoreUnavailable
from turnback.core.models import BEGINNING, GateId, Position, ThreadId

FIRST_AFTER = 0.2
"""Seconds that an answer may take to be shown whole. Then what there is of it is shown, or typing."""

TYPING_EVERY = 4.0
"""Seconds after which typing is shown anew; where it is shown for the shortest time it is 5 s."""

STREAMED = 3500
"""Characters of an answer that grow on the screen; the rest comes with the end."""

NO_ANSWER = "The agent ended without a word."
NO_END = "That did not work. Try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a turn ended, and where in its thread."""

    status: str
    at: Position
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Card:
    gate: Mapping[str, Any]
    messages: Sequence[str] = ()
    shown: Said | None = None


@dataclass(eq=False)
class Showing:
    """A turn on show. Note what happens with `grow`, `step`, `approval` and `end`; `run` it once."""

    stage: Stage
    thread_id: ThreadId
    turn_no: int
    origin: Origin
    quiet_stop: bool = False
    """Whoever stops it is told so already."""

    _rows: list[tuple[str, str]] = field(default_factory=list)
    _text: str = ""
    _fresh: bool = False
    _cards: dict[str, _Card] = field(default_factory=dict)
    _end: End | None = None
    _messages: Sequence[str] = ()
    _shown: Said | None = None
    _lost: bool = False
    _reply_to: str | None = None
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether the turn has ended; its end may still have to be shown."""
        return self._end is not None

    # what happens

    def grow(self, text: str) -> None:
        """A piece of the answer."""
        self._text = text if self._fresh else self._text + text
        self._fresh = False
        self._woken.set()

    def step(self) -> None:
        """A step was saved: what the agent says next, it says instead of what it said before its tools ran."""
        self._fresh = True

    def said(self, role: str, text: str) -> None:
        """A message of the transcript."""
        if role != "user":
            self._rows.append((role, text))

    def approval(self, gate: Mapping[str, Any]) -> None:
        """An approval is waited for, or was answered."""
        card = self._cards.setdefault(str(gate["id"]), _Card(gate))
        card.gate = gate
        self._woken.set()

    def end(self, end: End) -> None:
        """The turn has ended."""
        self._end = end
        self._woken.set()

    def move(self, place: str) -> None:
        """The place has another key now."""
        self.origin = replace(self.origin, place=place)

    # what is shown

    async def run(self) -> None:
        """Show the turn until it has ended and that is shown, too."""
        typing = asyncio.create_task(self._type())
        try:
            await self._begin()
            while self._end is None:
                self._woken.clear()
                await self._show_text()
                await self._show_cards()
                await self._woken.wait()
            typing.cancel()
            await self._show_cards()
            await self._finish(self._end)
        finally:
            typing.cancel()

    async def _begin(self) -> None:
        thread = await self.stage.service.threads.find_thread(self.thread_id)
        if thread is not None and thread.group:
            self._reply_to = self.origin.message
        await self._nap(FIRST_AFTER)

    async def _nap(self, seconds: float) -> None:
        """Wait, but not longer than until the turn ends or asks."""
        timer = asyncio.ensure_future(self.stage.sleep(seconds))
        try:
            while not timer.done() and self._end is None and not self._asks:
                self._woken.clear()
                woken = asyncio.ensure_future(self._woken.wait())
                await asyncio.wait({timer, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
        finally:
            timer.cancel()
        self._woken.set()

    @property
    def _asks(self) -> bool:
        return any(card.shown is None or _is_settled(card) for card in self._cards.values())

    async def _type(self) -> None:
        """Show typing, but not while people are waited for."""
        await self.stage.sleep(FIRST_AFTER)
        while True:
            if not any(_waits(card.gate) for card in self._cards.values()):
                outlet = await self.stage.outlet(self.origin.surface)
                try:
                    await outlet.typing(self.origin.place)
                except Exception as error:  # noqa: BLE001 - a sign that is missing costs nothing else
                    self.stage.failed(self.origin.surface, error, "typing")
                    return
            await self.stage.sleep(TYPING_EVERY)

    async def _show_text(self) -> None:
        said = self._said(_streamed(self._text))
        if self._lost or not self._text.strip() or said == self._shown or self._end is not None:
            return
        try:
            edit_every = await self._put(said)
        except Exception as error:  # noqa: BLE001 - a platform's fault must not cost the end of the answer
            self._lost = isinstance(error, Unreachable)
            self.stage.failed(self.origin.surface, error, "stream")
            return
        await self._nap(edit_every)

    async def _put(self, said: Said) -> float:
        """Show this as the answer: a new message, or instead of what there is of it."""

        async def put(outlet: Outlet) -> float:
            if not self._messages:
                self._messages = await outlet.send(self.origin.place, said)
            elif said != self._shown:
                self._messages = await outlet.edit(self.origin.place, self._messages, said)
            self._shown = said
            return outlet.edit_every

        return await self.stage.do(self.origin.surface, self.origin.place, put)

    # the end

    async def _finish(self, end: End) -> None:
        answer, notes = await self._closing_words(end)
        shown = list(await self._answer(answer) if answer is not None else self._messages)
        await self._post(shown, end.at, ANSWER)
        for note in notes:
            kind = NOTE if shown else ANSWER
            shown += (told := await self._note(note))
            await self._post(told, end.at, kind)

    async def _closing_words(self, end: End) -> tuple[Said | None, list[str]]:
        """The answer, if there is one, and lines below it."""
        rows = self._rows or await self._kept_rows()
        answers = [text for role, text in rows if role == "assistant"]
        notes = [*(text for role, text in rows if role == "note"), *end.notes]
        if answers:
            said = "\n\n".join(text for text in answers if text.strip())
            return self._said(said or NO_ANSWER), notes
        if not rows and await self.stage.service.threads.find_thread(self.thread_id) is not None:
            notes = [NO_END]
        if end.status == "stopped" and self.quiet_stop:
            notes = notes[1:]
        growing = self._messages and self._text.strip()
        return (self._said(self._text) if growing else None), notes

    async def _kept_rows(self) -> list[tuple[str, str]]:
        """The transcript's word, where the events were lost."""
        rows = await self.stage.service.threads.turn_rows(self.thread_id, self.turn_no)
        return [(row.role, row.text) for row in rows if row.role != "user"]

    def _said(self, text: str) -> Said:
        return Said(text=text, markdown=True, reply_to=self._reply_to)

    async def _answer(self, said: Said) -> Sequence[str]:
        """Show the whole answer; where that fails, as a new message, and at last as plain text."""
        growing = bool(self._messages)
        try:
            await self._put(said)
        except Unreachable as error:
            self.stage.failed(self.origin.surface, error, "answer")
            return ()
        except Exception as error:  # noqa: BLE001 - nobody else would show this answer
            self.stage.failed(self.origin.surface, error, "answer")
            self._messages = ()
            return await self._answer(said) if growing else await self._note(said.text)
        return self._messages

    async def _note(self, text: str) -> Sequence[str]:
        said = Said(text=text, reply_to=self._reply_to)
        try:
            return await self.stage.say(self.origin.surface, self.origin.place, said)
        except Exception as error:  # noqa: BLE001 - the turn has ended, whether that can be shown or not
            self.stage.failed(self.origin.surface, error, "note")
            return ()

    async def _post(self, messages: Sequence[str], at: Position, kind: str) -> None:
        standing = Standing(surface=self.origin.surface, place=self.origin.place, thread_id=self.thread_id, at=at)
        await self.stage.post(standing, messages, kind)

    # approvals

    async def _show_cards(self) -> None:
        for gate_id, card in list(self._cards.items()):
            if self._end is not None and _waits(card.gate):
                card.gate = {**card.gate, "status": "dead"}
            if _waits(card.gate):
                if card.shown is None and not await self._ask(gate_id, card):
                    self._cards.pop(gate_id, None)
            elif card.messages:
                await self._settle(card)

    async def _ask(self, gate_id: str, card: _Card) -> bool:
        """Show a card; if it cannot be, nobody can approve, and the turn goes on without."""

        async def show(outlet: Outlet) -> None:
            if not card.messages and _waits(card.gate) and self._end is None:
                card.messages = await outlet.send(self.origin.place, said)

        said = replace(cards.card(card.gate, self.stage.clock()), reply_to=self._reply_to)
        try:
            card.messages = await self._known_card(gate_id)
            if not card.messages:
                await self.stage.do(self.origin.surface, self.origin.place, show)
                await self._post(card.messages, await self._start(), _kind(gate_id))
            card.shown = said
            self._messages, self._shown, self._text = (), None, ""  # what comes next comes below the card
        except Exception as error:  # noqa: BLE001 - whatever the reason: the turn must not wait for ever
            self.stage.failed(self.origin.surface, error, "approval")
            with suppress(Exception):
                await self.stage.service.turns.withdraw(self.thread_id, GateId(gate_id))
            await self._post(await self._note(cards.UNSHOWN), await self._start(), REPLY)
            return False
        return True

    async def _settle(self, card: _Card) -> None:
        said = cards.settled(card.gate)
        if said == card.shown:
            return
        card.shown = said

        async def show(outlet: Outlet) -> None:
            card.messages = await outlet.edit(self.origin.place, card.messages, said)

        try:
            await self.stage.do(self.origin.surface, self.origin.place, show)
        except Exception as error:  # noqa: BLE001 - a press on the old card is refused anyway
            self.stage.failed(self.origin.surface, error, "approval")

    async def _known_card(self, gate_id: str) -> Sequence[str]:
        """The messages of a card that was shown before a restart."""
        kept = await self.stage.service.threads.posts(self.thread_id, self.origin.surface, self.origin.place)
        return [post.message for post in kept if post.kind == _kind(gate_id)]

    async def _start(self) -> Position:
        """Where the turn began, as far as that can be read."""
        with suppress(StoreUnavailable):
            view = await self.stage.service.threads.view(self.thread_id)
            return next((t.start for t in view.turns if t.turn_no == self.turn_no), BEGINNING) if view else BEGINNING
        return BEGINNING


def _kind(gate_id: str) -> str:
    return f"gate:{gate_id}"


def _waits(gate: Mapping[str, Any]) -> bool:
    return str(gate.get("status", "waiting")) == "waiting"


def _is_settled(card: _Card) -> bool:
    return not _waits(card.gate) and bool(card.messages) and card.shown != cards.settled(card.gate)


def _streamed(text: str) -> str:
    return text if len(text) <= STREAMED else text[:STREAMED].rsplit(maxsplit=1)[0] + " …"
