"""A whole house with a platform in memory: service, desk, presenter, people who come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from support.outlet import CAN, Screen, Walker
from support.turning import Stage, Surviving, Time, gated, slow
from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch
from turnback.bots.people import PlatformPeople
from turnback.bots.places import Place
from turnback.bots.platform import Person
from turnback.bots.presenting import Presenter
from turnback.core.agents.protocol import Context
from turnback.core.models import Actor, State, Surface, ThreadId
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service


@dataclass
class Hall:
    """The house. Everybody may come in until `allow` says otherwise."""

    service: Turnback
    agent: Surviving
    screen: Screen
    presenter: Presenter
    dispatch: Dispatch
    time: Time
    policy: list[TimeTravel]
    access: list[Access]
    allow: list[str] = field(default_factory=lambda: ["telegram:*"])
    admins: list[str] = field(default_factory=list)
    after_restore: Literal["keep", "delete"] = "keep"
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(
            self.service,
            self.dispatch,
            people=PlatformPeople(self.service, admins=lambda: self.admins, allow=lambda: self.allow, clock=self.time),
            presenter=self.presenter,
            clock=self.time,
        )

    def walker(self, name: str = "Ann", key: str = "1", *, place: str = "", group: bool = False) -> Walker:
        """Somebody at a place: a private one, or the group `place`."""
        person = Person(surface=Surface.TELEGRAM, user_key=key, name=name)
        where = Place(surface=Surface.TELEGRAM, key=place or key, group=group, can=CAN)
        return Walker(self.desk, self.screen, person, where, self.time)

    async def screen_called(self, times: int) -> None:
        """Wait until the platform was asked to show something so often."""
        await self.screen.until(lambda: len(self.screen.calls) >= times)

    async def thread(self, walker: Walker) -> ThreadId:
        """The chat that a walker's place talks into."""
        found = await self.dispatch.places.find(walker.place)
        assert found is not None
        return found

    async def actor(self, walker: Walker) -> Actor:
        """Who a walker is to us."""
        identity = await self.service.threads.find_identity(walker.person.surface, walker.person.user_key)
        assert identity is not None
        return Actor(account=identity.account, surface=Surface.WEB, name=walker.person.name)

    async def tell(self, walker: Walker, *texts: str) -> None:
        """Talk with the agent, each time until its answer is shown."""
        for text in texts:
            await walker.say(text, addressed=True)
            await walker.reads(f"said {text}")
            await self.presenter.settle(10)

    async def steps(self, walker: Walker) -> list[str]:
        """The ids of the steps on the path."""
        listing = await self.service.rewind.list_steps(await self.actor(walker), await self.thread(walker))
        return [view.step.id for view in listing.steps]

    async def asked(self, walker: Walker) -> list[str]:
        """What people said to the agent, as far as it is on the path."""
        rows = await self.service.rewind.transcript(await self.actor(walker), await self.thread(walker))
        return [row.text for row, _ in rows if row.role == "user"]


@asynccontextmanager
async def hall(folder: Path, screen: Screen | None = None, time: Time | None = None) -> AsyncIterator[Hall]:
    """Open the house over a folder; again over the same one, it is as after a restart."""
    time, screen = time or Time(), screen or Screen()
    agent, policy, access = Surviving(slow=slow, mail=gated, grow=grow), [TimeTravel()], [Access()]
    async with open_service(
        folder, agent=agent, policy=lambda: policy[0], access=lambda: access[0], maintain=False, clock=time
    ) as service:
        presenter = Presenter(service, after_restore=lambda: house.after_restore, clock=time, sleep=time.sleep)
        presenter.add(screen)
        running = asyncio.create_task(presenter.run())
        dispatch = Dispatch(service, policy=lambda: policy[0], clock=time)
        house = Hall(service, agent, screen, presenter, dispatch, time, policy, access)
        try:
            yield house
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def grow(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
    """Says its words one after the other, each when the test lets it."""
    words = text.split()[1:]
    for number, word in enumerate(words):
        await stage.halt(word)
        yield {"type": "delta", "text": word if not number else f" {word}"}
    said = " ".join(words)
    state = {**state, "messages": [*state.get("messages", []), {"role": "assistant", "content": said}]}
    yield {"type": "step", "state": state}
    yield {"type": "done", "state": state, "text": said}
