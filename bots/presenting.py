"""Shows at the places of platforms what happens in their threads.

One listener on the events of the house, which never waits: turns are shown by tasks of their own
(`showing`), and so is all else: news of a restore from elsewhere, messages that were returned, alerts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from turnback.bots.addressing import REPLY
from turnback.bots.news import Alarm, moved, returned
from turnback.bots.origins import Origin, find_origin
from turnback.bots.platform import Outlet, Said
from turnback.bots.showing import End, Showing
from turnback.bots.stage import Stage, Standing
from turnback.bots.tidying import AfterRestore, Tidying
from turnback.core import shapes
from turnback.core.events import Event
from turnback.core.models import BEGINNING, Position, Surface, ThreadId, Turn, TurnStatus
from turnback.core.service import Turnback
from turnback.core.tasks import Tasks

T = TypeVar("T")

NEWS_SECONDS = 600.0
"""How long news waits for a platform that is away; then it is old."""

_log = structlog.get_logger(__name__)


class Presenter:
    """Listens to all that happens, and shows it through the outlets. `run` it once, beside the adapters."""

    def __init__(
        self,
        service: Turnback,
        *,
        after_restore: AfterRestore = lambda: "keep",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._service = service
        self._stage = Stage(service, clock=clock, sleep=sleep)
        self._alarm = Alarm(service, self._stage)
        self._tidying = Tidying(self._stage, after_restore)
        self._running: dict[ThreadId, Showing] = {}
        self._shows: dict[Showing, asyncio.Task[None]] = {}
        self._tasks = Tasks()
        self._seen = 0
        self._heard = asyncio.Event()

    # platforms that come and go

    def add(self, outlet: Outlet) -> None:
        """This platform can be spoken through from now on; what waited for it is shown."""
        self._stage.add(outlet)
        self._start(self._alarm.catch_up(outlet))

    def remove(self, outlet: Outlet) -> None:
        """It cannot any more; what is to be shown there waits until it is added again."""
        self._stage.remove(outlet)

    def disconnected(self, name: str) -> None:
        """The adapter of this platform has ended, whatever it left behind."""
        outlet = self._stage.find(Surface(name))
        if outlet is not None:
            self._stage.remove(outlet)

    def is_connected(self, name: str) -> bool:
        """Whether the platform of this name can be spoken through now."""
        return self._stage.find(Surface(name)) is not None

    async def connected(self, name: str) -> None:
        """Wait until the platform of this name can be spoken through."""
        await self._stage.outlet(Surface(name))

    def move(self, surface: Surface, old: str, new: str) -> None:
        """A place has another key from now on: what is being shown there goes on under the new one."""
        for showing in self._shows:
            if (showing.origin.surface, showing.origin.place) == (surface, old):
                showing.move(new)

    # what the desk has shown

    async def say(self, surface: Surface, place: str, said: Said) -> Sequence[str]:
        """Say something at a place, when it is its turn; nothing where it cannot be reached."""
        try:
            async with asyncio.timeout(NEWS_SECONDS):
                return await self._stage.say(surface, place, said)
        except Exception as error:  # noqa: BLE001 - news that nobody gets breaks nothing
            self._stage.failed(surface, error, "news")
            return ()

    async def change(self, surface: Surface, place: str, message: str, said: Said) -> Sequence[str] | None:
        """Show something instead of what a message of ours shows; None where that cannot be done now."""
        return await self._at_once(surface, "edit", lambda outlet: outlet.edit(place, [message], said))

    async def open_beside(self, surface: Surface, place: str, title: str) -> str | None:
        """Open a place beside one; its key, None where that cannot be done now."""
        return await self._at_once(surface, "beside", lambda outlet: outlet.open_beside(place, title))

    async def standing(self, surface: Surface, place: str | None) -> Standing | None:
        """Where the thread of a place stands, for `answered`."""
        return await self._tidying.standing(surface, place) if place is not None else None

    def answered(self, standing: Standing | None, messages: Sequence[str], *, moved: bool) -> None:
        """A command was answered with these messages; `moved`: it took the thread to where it stands now."""
        if standing is not None:
            self._start(self._tidying.answered(standing, messages, moved=moved))

    def told_of_stop(self, thread_id: ThreadId, surface: Surface, place: str) -> None:
        """Somebody stops a thread's turn at its own place and is answered there: its end need not say so, too."""
        showing = self._running.get(thread_id)
        if showing is not None and (showing.origin.surface, showing.origin.place) == (surface, place):
            showing.quiet_stop = True

    async def _at_once(self, surface: Surface, what: str, work: Callable[[Outlet], Awaitable[T]]) -> T | None:
        outlet = self._stage.find(surface)
        if outlet is None:
            return None
        try:
            return await work(outlet)
        except Exception as error:  # noqa: BLE001 - whoever asks says or does it in another way
            self._stage.failed(surface, error, what)
            return None

    # what happens

    async def run(self) -> None:
        """Listen and show, until cancelled. What happened since the service began is shown, too."""
        try:
            async with self._service.events.listen(after=0) as events:
                before = self._service.events.last_id
                if not before:
                    await self.recover()
                async for event in events:
                    if event is not None:
                        self._hear_safely(event)
                        self._seen = event.id
                    self._heard.set()
                    if event is None or event.id == before:
                        await self.recover()
        finally:
            for task in self._shows.values():
                task.cancel()

    async def recover(self) -> None:
        """After a start, or when events were lost: go on showing the turns that run; end what ended unseen."""
        running = {turn.thread_id: turn for turn in await self._service.threads.running()}
        for thread_id, showing in list(self._running.items()):
            turn = running.get(thread_id)
            if turn is None or turn.turn_no != showing.turn_no:
                await self._end_unseen(thread_id, showing)
        for thread_id, turn in running.items():
            self._begin(thread_id, turn.turn_no, turn.origin)
            if turn.status is TurnStatus.APPROVAL_PENDING:
                await self._show_gates(turn)

    async def settle(self, seconds: float) -> None:
        """Show what has ended by now, before the program ends; not longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settled()

    async def _settled(self) -> None:
        while self._seen < self._service.events.last_id:
            self._heard.clear()
            await self._heard.wait()
        over = [task for showing, task in self._shows.items() if showing.over]
        if over:
            await asyncio.wait(over)

    def _hear_safely(self, event: Event) -> None:
        try:
            self._hear(event)
        except Exception:  # noqa: BLE001 - one event that cannot be shown must not end the show
            _log.exception("event not shown", event_name=event.name)

    def _hear(self, event: Event) -> None:
        data, thread_id = event.data, event.thread_id
        match event.name:
            case "alert":
                self._start(self._alarm.tell(str(data["kind"]), data["text"]))
            case "unrun":
                self._return(data)
            case "rewound" if thread_id is not None:
                self._start(self._tell_moved(data, thread_id, by_agent=thread_id in self._running))
            case "began" if thread_id is not None:
                self._running.pop(thread_id, None)
                self._begin(thread_id, int(data["turn_no"]), data["origin"])
            case _ if thread_id is not None and (showing := self._running.get(thread_id)) is not None:
                self._note(showing, event)

    def _note(self, showing: Showing, event: Event) -> None:
        data = event.data
        match event.name:
            case "delta":
                showing.grow(data["text"])
            case "snapshot":
                showing.step()
            case "message":
                showing.said(data["message"]["role"], data["message"]["text"])
            case "approval":
                showing.approval(data["gate"])
            case "ended" if data["turn_no"] == showing.turn_no:
                del self._running[showing.thread_id]
                at = Position(data["branch"], data["pos"])
                showing.end(End(status=data["status"], at=at, notes=tuple(data["notes"])))

    def _begin(self, thread_id: ThreadId, turn_no: int, origin: str | None) -> None:
        asked = find_origin(origin)
        if asked is None:
            return
        known = next((s for s in self._shows if (s.thread_id, s.turn_no) == (thread_id, turn_no)), None)
        if known is None:
            self._running[thread_id] = self._show(thread_id, turn_no, asked)
        elif not known.over:
            self._running[thread_id] = known

    def _show(self, thread_id: ThreadId, turn_no: int, origin: Origin) -> Showing:
        """Show a turn, once those before it of the same thread at the same place are shown."""
        showing = Showing(stage=self._stage, thread_id=thread_id, turn_no=turn_no, origin=origin)
        place = thread_id, origin.place
        before = [task for other, task in self._shows.items() if (other.thread_id, other.origin.place) == place]

        async def show() -> None:
            if before:
                await asyncio.wait(before)
            await showing.run()

        self._shows[showing] = task = self._start(show())
        task.add_done_callback(lambda _: self._shows.pop(showing, None))
        return showing

    async def _show_gates(self, turn: Turn) -> None:
        showing = self._running.get(turn.thread_id)
        if showing is None:
            return
        for gate in await self._service.threads.gates(turn.thread_id, turn.turn_no):
            if gate.status.value == "waiting":
                showing.approval(shapes.gate_json(gate))

    async def _end_unseen(self, thread_id: ThreadId, showing: Showing) -> None:
        view = await self._service.threads.view(thread_id)
        turn = next((t for t in view.turns if t.turn_no == showing.turn_no), None) if view else None
        self._running.pop(thread_id, None)
        status, at = (turn.status.value, turn.end) if turn else ("stopped", BEGINNING)
        showing.end(End(status=status, at=at))

    # news

    def _return(self, data: Any) -> None:
        origin = find_origin(data["origin"])
        if origin is not None:
            self._start(self.tell_returned(origin, str(data["status"]), str(data["reply"])))

    async def tell_returned(self, origin: Origin, status: str, reply: str) -> None:
        """Give a message that did not run back to its sender, in words."""
        said = Said(text=returned(status, reply), reply_to=origin.message)
        await self.say(origin.surface, origin.place, said)

    async def _tell_moved(self, data: Any, thread_id: ThreadId, *, by_agent: bool) -> None:
        """Every other bound place gets one line. Where a command asked for it, its answer comes before we tidy up."""
        said = Said(text=moved(data))
        for surface, place in await self._service.threads.places(thread_id):
            asked_here = (surface.value, place) == (data["surface"], data["place"])
            if by_agent or not asked_here:
                self._start(self._tidying.tidy(thread_id, surface, place))
            if not asked_here and self._stage.speaks(surface):
                self._start(self._tell_there(surface, place, said))

    async def _tell_there(self, surface: Surface, place: str, said: Said) -> None:
        standing = await self._tidying.standing(surface, place)
        messages = await self.say(surface, place, said)
        if standing is not None:
            await self._stage.post(standing, messages, REPLY)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = self._tasks.start(work)
        task.add_done_callback(_hear_of)
        return task


def _hear_of(task: asyncio.Task[Any]) -> None:
    """Nobody waits for what is shown: a bug in it is only logged."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("not shown", exc_info=error)
