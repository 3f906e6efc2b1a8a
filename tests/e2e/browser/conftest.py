"""Browser tests: Debian's Chromium before a server in this process. Without Chromium they are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright
from support.browser import FLAGS, Lodge, Visitors, Watch, lodge


@pytest.fixture
async def chromium(needs_program: Callable[[str], str]) -> AsyncIterator[Browser]:
    program = needs_program("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Lodge]:
    async with lodge(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
async def visitors(chromium: Browser, home: Lodge) -> AsyncIterator[Visitors]:
    """Browsers that are watched: a console error or a request to another host fails the test."""
    made = Visitors(chromium, home, Watch())
    yield made
    for context in chromium.contexts:
        await context.close()
    assert made.watch.faults == []
