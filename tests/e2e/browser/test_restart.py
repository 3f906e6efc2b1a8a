"""A page outlives its server: it says that it is offline, comes back by itself, and has missed nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect
from support.browser import Lodge, Visitors, Watch, go, lodge

GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_EMPTY_RESPONSE",
    "ERR_CONNECTION_RESET",
    "htmx:",
)
"""What the browser itself says of a server that is not there, and htmx if it was just asking."""


def at(home: Lodge) -> int:
    port = urlsplit(home.url).port
    assert port
    return port


@pytest.mark.parametrize("worker", ["shared worker", "stream of its own"])
async def test_page_is_offline_while_the_server_is_and_catches_up(
    chromium: Browser, tmp_path: Path, worker: str
) -> None:
    watch = Watch(allowed=GONE)
    async with lodge(tmp_path) as home:
        thread = await home.thread("ann", "Trip", "one")
        visitors = Visitors(chromium, home, watch)
        context = await visitors.context("ann")
        if worker != "shared worker":
            await context.add_init_script("delete window.SharedWorker")
        chat = await go(await context.new_page(), f"/chats/{thread.id}")
        steps = await go(await context.new_page(), f"/replay?thread={thread.id}")
    for tab in (chat, steps):
        await expect(tab.locator("html.offline")).to_be_attached()
    async with lodge(tmp_path, port=at(home)) as again:
        await again.ask("ann", thread.id, "two")
        await again.thread("ann", "Begun meanwhile")
        await expect(chat.locator("[data-answer]").nth(1)).to_contain_text("said two")
        await expect(chat.locator("#chats")).to_contain_text("Begun meanwhile")
        await expect(steps.locator("#steps a.step")).to_have_count(2)
        for tab in (chat, steps):
            await expect(tab.locator("html.listening")).to_be_attached()
            await expect(tab.locator("html.offline")).to_have_count(0)
        await chat.fill("#composer", "three")
        await chat.keyboard.press("Enter")
        await expect(chat.locator("[data-answer]").nth(2)).to_contain_text("said three")
        await context.close()
    assert watch.faults == []
