"""Browser tests: Debian's Chromium before a server in this process. Without Chromium they are skipped.

They share one loop and one browser, which takes longer to start than most of them take. A fixture in here
says `@pytest_asyncio.fixture(loop_scope="session")`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright
from support.browser import FLAGS, Lodge, Visitors, Watch, lodge


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Callable[[str], Awaitable[Browser]]]:
    """Starts a browser where none runs."""
    async with async_playwright() as playwright:
        started: list[Browser] = []

        async def start(program: str) -> Browser:
            if not started or not started[0].is_connected():
                started[:] = [await playwright.chromium.launch(executable_path=program, args=FLAGS)]
            return started[0]

        yield start
        for browser in started:
            await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(
    needs_program: Callable[[str], str], browser: Callable[[str], Awaitable[Browser]]
) -> AsyncIterator[Browser]:
    """The browser; what a test opened in it is closed after it."""
    found = await browser(needs_program("chromium"))
    yield found
    for context in found.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def home(tmp_path: Path) -> AsyncIterator[Lodge]:
    async with lodge(tmp_path / "data") as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(chromium: Browser, home: Lodge) -> AsyncIterator[Visitors]:
    """Browsers that are watched: a console error or a request to another host fails the test."""
    made = Visitors(chromium, home, Watch())
    yield made
    for context in chromium.contexts:
        await context.close()
    assert made.watch.faults == []
