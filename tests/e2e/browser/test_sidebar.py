"""The list of chats, in a browser: live in every tab, one event stream, search, forks under their origin."""

from __future__ import annotations

import re

from playwright.async_api import APIResponse, Page, Route, expect
from support.browser import DESKTOP, Lodge, Visitors, go

from turnback.core.models import Surface


def names(page: Page) -> object:
    return page.locator("#chats .name")


async def test_fork_made_on_a_platform_appears_within_a_second_in_every_tab(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    await home.thread("ann", "Newer", "two")
    context = await visitors.context("ann")
    tabs = [await context.new_page() for _ in range(3)]
    for tab, path in zip(tabs, ("/", f"/chats/{thread.id}", "/new"), strict=True):
        await go(tab, path)
        await expect(tab.locator("#chats li")).to_have_count(2)
    await home.service.rewind.fork(await home.actor("ann", Surface.TELEGRAM), thread.id)
    for tab in tabs:
        fork = tab.locator("#chats ol li")
        await expect(fork).to_contain_text("from turn 1, step 1", timeout=1000)
        await expect(tab.locator("#chats > ul > li").first).to_contain_text("Trip")


async def test_tabs_share_one_event_stream(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    context = await visitors.context("ann")
    for path in ("/", f"/chats/{thread.id}", "/new"):
        await go(await context.new_page(), path)
    assert len(home.service.events._listeners) == 1


async def test_browser_without_shared_workers_listens_all_the_same(visitors: Visitors, home: Lodge) -> None:
    await home.thread("ann", "Trip", "one")
    context = await visitors.context("ann")
    await context.add_init_script("delete window.SharedWorker")
    page = await go(await context.new_page(), "/")
    await home.thread("ann", "Made elsewhere")
    await expect(page.locator("#chats")).to_contain_text("Made elsewhere")


async def test_search_filters_and_keeps_filtering_when_the_list_changes(visitors: Visitors, home: Lodge) -> None:
    for title in ("Packing list", "Budget table"):
        await home.thread("ann", title)
    page = await visitors.visit("ann", "/", DESKTOP)
    await page.keyboard.press("Control+k")
    await expect(page.locator("#search")).to_be_focused()
    await page.keyboard.type("pack")
    await expect(page.locator("#chats li")).to_have_count(1)
    await home.thread("ann", "Budget of May")
    await home.thread("ann", "Packing again")
    await expect(page.locator("#chats li")).to_have_count(2)
    await page.fill("#search", "nothing like it")
    await expect(page.locator("#chats")).to_contain_text("No chat of yours has “nothing like it” in its name.")


async def test_rename_shows_in_another_tab(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    context = await visitors.context("ann")
    here, there = [await go(await context.new_page(), f"/chats/{thread.id}") for _ in range(2)]
    await here.get_by_role("link", name="Rename").click()
    await here.get_by_label("Name of this chat").fill("Journey")
    await here.get_by_role("button", name="Rename").click()
    for page in (here, there):
        await expect(page.locator("#chats .name")).to_contain_text("Journey")
        await expect(page.locator("#chat-title")).to_have_text("Journey")


async def test_delete_says_what_goes_and_leaves_the_fork(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "two")
    await home.service.rewind.fork(await home.actor("ann"), thread.id)
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.get_by_role("link", name="Delete…").click()
    section = page.locator("#delete")
    await expect(section).to_contain_text("4 messages, 2 steps, 0 remembered facts and its files")
    await expect(section).to_contain_text("Your 1 fork of it stays.")
    await section.get_by_role("button", name="Delete this chat").click()
    await page.wait_for_url(re.compile(r"/$"))
    await expect(page.locator("#chats li")).to_have_count(1)
    await expect(page.locator("#chats li")).to_contain_text("Trip")


async def test_keyboard_focus_survives_a_refresh_of_the_list(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", "/")
    link = page.locator(f"#chats a[href='/chats/{thread.id}']")
    await link.focus()
    await home.thread("ann", "Another")
    await expect(page.locator("#chats li")).to_have_count(2)
    await expect(link).to_be_focused()


async def test_old_answer_never_replaces_a_newer_list(visitors: Visitors, home: Lodge) -> None:
    await home.thread("ann", "First")
    page = await visitors.visit("ann", "/")
    held: list[tuple[Route, APIResponse]] = []

    async def hold_one(route: Route) -> None:
        if not held:
            held.append((route, await route.fetch()))
            await home.thread("ann", "Second")
        else:
            await route.continue_()

    await page.route("**/sidebar*", hold_one)
    await home.service.rewind.rename(
        await home.actor("ann"), (await home.service.rewind.threads(await home.actor("ann")))[0].id, "Renamed"
    )
    await expect(page.locator("#chats")).to_contain_text("Second")
    ((route, old),) = held
    await route.fulfill(response=old)
    await expect(page.locator("#chats li")).to_have_count(2)


async def test_click_counts_although_the_list_changes_before_the_page_has_come(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", "/")

    async def change_meanwhile(route: Route) -> None:
        await home.thread("ann", "Another")
        async with page.expect_response("**/sidebar*") as refreshed:
            pass
        await (await refreshed.value).finished()
        await page.evaluate("new Promise((done) => setTimeout(done, 100))")  # where it would be shown
        await route.continue_()

    await page.route("**/chats/*", change_meanwhile)
    await page.get_by_role("link", name=re.compile("Trip")).click()
    await expect(page).to_have_url(re.compile(f"/chats/{thread.id}$"))
    await expect(page.locator("#chats li")).to_have_count(2)
