"""A real browser before a real server in this process, and everything that a page must never do, watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, expect

from support.web import Patient, Settings
from turnback.bots.dispatch import Dispatch, answer_command
from turnback.core import open_service
from turnback.core.models import Account, Actor, Surface, Thread, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.web.app import create_app
from turnback.web.guard import Site
from turnback.web.parts import Platforms, SettingsPort, utc_now
from turnback.web.server import serve

DESKTOP, PHONE, NARROW = (1440, 900), (390, 844), (360, 740)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

SECONDS = 15
"""How long a page may take for what should be there at once, on a busy machine."""

READY = "html:not(:has(#app)), html.listening:not(:has([data-module]:not([data-started=yes])))"
"""The door has no scripts; every other page hears of events, and has begun all of its own."""

expect.set_options(timeout=SECONDS * 1000)


@dataclass
class Lodge:
    """A served house: the service behind the pages, and who lives there."""

    service: Turnback
    agent: Patient
    url: str
    settings: Settings
    people: dict[str, Account] = field(default_factory=dict)

    async def account(self, who: str) -> Account:
        """Somebody's account; `root` is an admin."""
        if who not in self.people:
            self.people[who] = await self.service.people.ensure_account(who, admin=who == "root")
        return self.people[who]

    async def actor(self, who: str, surface: Surface = Surface.WEB) -> Actor:
        """Somebody, as a surface knows them."""
        account = await self.account(who)
        return Actor(account=account.id, surface=surface, admin=account.admin, name=account.name)

    async def thread(self, who: str, title: str | None = None, *said: str) -> Thread:
        """A chat of somebody's in which these things were said, each answered."""
        actor = await self.actor(who)
        thread = await self.service.rewind.create_thread(actor, title)
        for text in said:
            await self.ask(who, thread.id, text)
        return thread

    async def ask(self, who: str, thread_id: ThreadId, text: str) -> None:
        """Say something, and wait for the end of the turn or its halt at a gate."""
        await self.service.turns.ask(await self.actor(who), thread_id, text)

    async def link(self, who: str) -> str:
        """The address of a sign-in link."""
        return f"{self.url}/login?link={await self.service.people.create_link(await self.account(who))}"


@asynccontextmanager
async def lodge(
    path: Path,
    policy: TimeTravel | Callable[[], TimeTravel] | None = None,
    *,
    furnish: Callable[[Turnback], SettingsPort] | None = None,
    platforms: Platforms = lambda: (),
    clock: Callable[[], datetime] = utc_now,
    port: int = 0,
) -> AsyncIterator[Lodge]:
    """A house with a server on loopback, on a free port; `furnish` makes other settings than the usual."""
    agent = Patient()
    async with (
        open_service(path, agent=agent, policy=policy or TimeTravel(), maintain=False, clock=clock) as service,
        served(service, furnish=furnish, platforms=platforms, clock=clock, port=port) as lodge,
    ):
        lodge.agent = agent
        try:
            yield lodge
        finally:
            agent.let_go.set()


@asynccontextmanager
async def served(
    service: Turnback,
    *,
    furnish: Callable[[Turnback], SettingsPort] | None = None,
    platforms: Platforms = lambda: (),
    clock: Callable[[], datetime] = utc_now,
    port: int = 0,
) -> AsyncIterator[Lodge]:
    """A service that exists, with the page before it."""
    usual, site, stop = Settings(), Site(), asyncio.Event()
    app = create_app(
        service,
        settings=furnish(service) if furnish else usual,
        commands=answer_command(service, Dispatch(service, links=site)),
        site=site,
        platforms=platforms,
        clock=clock,
    )
    listening = asyncio.Event()

    def on_listening(_host: str, _port: int) -> None:
        listening.set()

    server = asyncio.create_task(serve(app, host="127.0.0.1", port=port, on_listening=on_listening, stop=stop))
    await listening.wait()
    try:
        yield Lodge(service, Patient(), site.url, usual)
    finally:
        stop.set()
        await server


@dataclass
class Watch:
    """What pages did that none may do: errors, and requests to other hosts."""

    faults: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
    """Parts of errors that a test provokes."""

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("request", self._request)
        context.on("response", self._response)
        context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in self.allowed):
            self.faults.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            self.faults.append(f"asked another host: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 500:
            self.faults.append(f"{response.status}: {response.url}")


@dataclass
class Visitors:
    """Makes browsers that are signed in."""

    browser: Browser
    lodge: Lodge
    watch: Watch

    async def context(self, who: str | None, size: tuple[int, int] = DESKTOP, **options: Any) -> BrowserContext:
        """A browser of its own, with its own cookies; signed in as `who`, unless None."""
        width, height = size
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, base_url=self.lodge.url, **options
        )
        context.set_default_timeout(SECONDS * 1000)
        self.watch.follow(context)
        if who is not None:
            session = await self.lodge.service.people.create_session(await self.lodge.account(who))
            await context.add_cookies(
                [{"name": "turnback_session", "value": session, "url": self.lodge.url, "httpOnly": True}]
            )
        return context

    async def visit(self, who: str | None, path: str, size: tuple[int, int] = DESKTOP, **options: Any) -> Page:
        """A page in a browser of its own."""
        page = await (await self.context(who, size, **options)).new_page()
        await page.goto(path)
        if options.get("java_script_enabled", True):
            await ready(page)
        return page


async def go(page: Page, path: str) -> Page:
    """Open a page, and wait until it is ready."""
    await page.goto(path)
    await ready(page)
    return page


async def ready(page: Page) -> None:
    """Wait until a page is ready for keys, clicks and events.

    It is seen before its scripts have begun; what is done in between is done without them, or lost.
    """
    await page.locator(READY).wait_for(state="attached")


async def violations(page: Page) -> list[Mapping[str, Any]]:
    """What axe-core finds wrong with a page."""
    results = await Axe().run(page)
    return [
        {"id": found["id"], "nodes": [node["html"][:200] for node in found["nodes"]]}
        for found in results.response["violations"]
    ]


async def is_wider_than_screen(page: Page) -> bool:
    """Whether the page scrolls sideways."""
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
