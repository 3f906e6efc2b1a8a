"""Shows at the places of platforms what happens in their threads.

One listener on the events of the house, which never waits: turns are shown by tasks of their own
(`showing`), and so is all else: news of a restore from elsewhere, messages that were returned, alerts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import structlog

from turnback.bots.news import Alarm, moved, returned
from turnback.bots.origins import Origin, find_origin
from turnback.bots.platform import Outlet, Said
from turnback.bots.showing import End, Showing
from turnback.bots.stage import Stage
from turnback.core import shapes
from turnback.core.events import Event
from turnback.core.models import Position, Surface, ThreadId, Turn, TurnStatus
from turnback.core.service import Turnback
from turnback.core.tasks import Tasks

NEWS_SECONDS = 600.0
"""How long news waits for a platform that is away; then it is old."""

_log = structlog.get_logger(__name__)


class Presenter:
    """Listens to all that happens, and shows it through the outlets. `run` it once, beside the adapters."""

    def __init__(
        self,
        service: Turnback,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.after_restore: Callable[[], Literal["keep", "delete"]] = lambda: "keep"
        self._service = service
        self._stage = Stage(service, clock=clock, sleep=sleep)
        self._alarm = Alarm(service, self._stage)
        self._showings: dict[ThreadId, Showing] = {}
        self._shown: dict[Showing, asyncio.Task[None]] = {}
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
        for showing in self._shown:
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

    async def change(self, surface: Surface, place: str, message: str, said: Said) -> bool:
        """Show something instead of what a message of ours shows; False where that cannot be done now."""
        outlet = self._stage.find(surface)
        if outlet is None:
            return False
        try:
            await outlet.edit(place, [message], said)
        except Exception as error:  # noqa: BLE001 - then it is said anew
            self._stage.failed(surface, error, "edit")
            return False
        return True

    async def open_beside(self, surface: Surface, place: str, title: str) -> str | None:
        """Open a place beside one; its key, None where that cannot be done now."""
        outlet = self._stage.find(surface)
        if outlet is None:
            return None
        try:
            return await outlet.open_beside(place, title)
        except Exception as error:  # noqa: BLE001 - the fork is made, whether it can be opened here or not
            self._stage.failed(surface, error, "beside")
            return None

    def told_of_stop(self, thread_id: ThreadId, surface: Surface, place: str) -> None:
        """Somebody stops a thread's turn at its own place and is answered there: its end need not say so, too."""
        showing = self._showings.get(thread_id)
        if showing is not None and (showing.origin.surface, showing.origin.place) == (surface, place):
            showing.quiet_stop = True

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
            for task in self._shown.values():
                task.cancel()

    async def recover(self) -> None:
        """After a start, or when events were lost: go on showing the turns that run; end what ended unseen."""
        running = {turn.thread_id: turn for turn in await self._service.threads.running()}
        for thread_id, showing in list(self._showings.items()):
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
        over = [task for showing, task in self._shown.items() if showing.over]
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
            case "rewound":
                self._start(self._tell_moved(data))
            case "began" if thread_id is not None:
                self._showings.pop(thread_id, None)
                self._begin(thread_id, int(data["turn_no"]), data["origin"])
            case _ if thread_id is not None and (showing := self._showings.get(thread_id)) is not None:
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
                del self._showings[showing.thread_id]
                at = Position(data["branch"], data["pos"])
                showing.end(End(status=data["status"], at=at, notes=tuple(data["notes"])))

    def _begin(self, thread_id: ThreadId, turn_no: int, origin: str | None) -> None:
        asked = find_origin(origin)
        known = next((s for s in self._shown if (s.thread_id, s.turn_no) == (thread_id, turn_no)), None)
        if asked is None or known is not None:
            if known is not None and not known.over:
                self._showings[thread_id] = known
            return
        showing = Showing(stage=self._stage, thread_id=thread_id, turn_no=turn_no, origin=asked)
        before = [task for other, task in self._shown.items() if _follows(showing, other)]
        self._showings[thread_id] = showing
        task = self._start(self._show(showing, before))
        self._shown[showing] = task
        task.add_done_callback(lambda _: self._shown.pop(showing, None))

    async def _show(self, showing: Showing, before: Sequence[asyncio.Task[None]]) -> None:
        """Show a turn, once those before it at the same place are shown."""
        if before:
            await asyncio.wait(before)
        try:
            await showing.run()
        except Exception:  # noqa: BLE001 - a bug in one turn's show must not end the others'
            _log.exception("turn not shown", thread=showing.thread_id, surface=showing.origin.surface.value)

    async def _show_gates(self, turn: Turn) -> None:
        showing = self._showings.get(turn.thread_id)
        if showing is None:
            return
        for gate in await self._service.threads.gates(turn.thread_id, turn.turn_no):
            if gate.status.value == "waiting":
                showing.approval(shapes.gate_json(gate))

    async def _end_unseen(self, thread_id: ThreadId, showing: Showing) -> None:
        view = await self._service.threads.view(thread_id)
        turn = next((t for t in view.turns if t.turn_no == showing.turn_no), None) if view else None
        self._showings.pop(thread_id, None)
        status, at = (turn.status.value, turn.end) if turn else ("stopped", Position(0, 0))
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

    async def _tell_moved(self, data: Any) -> None:
        """Every other bound place gets one line; messages of ours that are no longer true go, if that is set."""
        thread_id = ThreadId(data["thread_id"])
        said = Said(text=moved(data))
        for surface, place in await self._service.threads.places(thread_id):
            if self.after_restore() == "delete":
                self._start(self._tidy(thread_id, surface, place))
            if (surface.value, place) != (data["surface"], data["place"]) and self._stage.speaks(surface):
                self._start(self.say(surface, place, said))

    async def _tidy(self, thread_id: ThreadId, surface: Surface, place: str) -> None:
        view = await self._service.threads.view(thread_id)
        if view is None:
            return
        path = view.lineage.path(view.thread.head)
        posts = await self._service.threads.posts(thread_id, surface, place)
        later = [post.message for post in posts if not path.covers(post.at)]
        if not later:
            return

        async def delete(outlet: Outlet) -> None:
            await outlet.delete(place, later)

        try:
            await self._stage.do(surface, place, delete)
        except Exception as error:  # noqa: BLE001 - what the platform does not let us delete stays
            self._stage.failed(surface, error, "delete")
            return
        await self._service.threads.drop_posts(surface, place, later)

    def _start(self, work: Any) -> asyncio.Task[Any]:
        return self._tasks.start(work)


def _follows(showing: Showing, other: Showing) -> bool:
    """Whether `other` is to be shown first: an earlier turn of the same thread at the same place."""
    return (showing.thread_id, showing.origin.place) == (other.thread_id, other.origin.place)
