"""What every page of chats must be: for keyboard and screen reader, at 360 px, light and dark, without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect
from support.browser import DESKTOP, NARROW, PHONE, Lodge, Visitors, go, is_wider_than_screen, violations

from turnback.core.models import Thread

HOSTILE = "<img src=x onerror=alert(1)> \u202edrawkcab\u202c " + "w" * 10_000


async def full_chat(home: Lodge) -> Thread:
    """A chat with one of everything: calls, a long word, a seam, a fork, a fact, an approval."""
    thread = await home.thread("ann", "Trip to <b>Rome</b>", "act bob@example.org", "remember tea", HOSTILE, "two")
    ann = await home.actor("ann")
    await home.service.rewind.fork(ann, thread.id)
    await home.service.rewind.undo(ann, thread.id)
    await home.ask("ann", thread.id, "ask bob")
    return thread


def paths(thread: Thread) -> list[str]:
    return ["/", "/new", f"/chats/{thread.id}", f"/chats/{thread.id}/about", "/you", "/nothing"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
async def test_axe_finds_nothing(visitors: Visitors, home: Lodge, size: tuple[int, int], scheme: str) -> None:
    visitors.watch.allowed = ("404",)
    thread = await full_chat(home)
    page = await visitors.visit("ann", "/", size, color_scheme=scheme)
    found = {}
    for path in paths(thread):
        await go(page, path)
        found[path] = await violations(page)
    await go(page, f"/chats/{thread.id}")
    await page.fill("#composer", "/re")
    found["commands"] = await violations(page)
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("path", ["good", "used", "unknown"])
async def test_axe_finds_nothing_at_the_door(visitors: Visitors, home: Lodge, path: str) -> None:
    visitors.watch.allowed = ("404", "410")
    link = await home.link("ann")
    page = await visitors.visit(None, link if path != "unknown" else "/login?link=x")
    if path == "used":
        await page.get_by_role("button", name="Sign in").click()
        await page.goto(link)
    assert await violations(page) == []


async def test_nothing_is_wider_than_a_narrow_phone(visitors: Visitors, home: Lodge) -> None:
    visitors.watch.allowed = ("404",)
    thread = await full_chat(home)
    page = await visitors.visit("ann", "/", NARROW)
    wide = []
    for path in paths(thread):
        await page.goto(path)
        if await is_wider_than_screen(page) or await overflows(page):
            wide.append(path)
    assert wide == []


async def overflows(page: Page) -> bool:
    """Whether a pane scrolls sideways although only code and tables may."""
    return bool(
        await page.evaluate(
            "[...document.querySelectorAll('.scroll, .pane')].some((e) => e.scrollWidth > e.clientWidth + 1)"
        )
    )


async def test_markup_in_texts_stays_text(visitors: Visitors, home: Lodge) -> None:
    thread = await full_chat(home)
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await expect(page.locator("#chat-title")).to_have_text("Trip to <b>Rome</b>")
    assert await page.locator("#main img").count() == 0
    assert await page.locator("#chat-title b").count() == 0


async def test_theme_that_was_chosen_wins_over_the_system(visitors: Visitors) -> None:
    page = await visitors.visit("ann", "/you", color_scheme="light")
    light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.get_by_role("button", name="Dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await go(page, "/")
    dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    await go(page, "/you")
    await page.get_by_role("button", name="As the system").click()
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == light


async def test_nothing_moves_where_motion_is_not_wanted(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip")
    page = await visitors.visit("ann", f"/chats/{thread.id}", reduced_motion="reduce")
    await page.fill("#composer", "hold")
    await page.keyboard.press("Enter")
    await expect(page.locator("#chats .live")).to_be_visible()
    assert await page.locator("#chats .live").evaluate("(e) => getComputedStyle(e).animationName") == "none"


async def test_whole_way_by_keyboard(visitors: Visitors, home: Lodge) -> None:
    page = await visitors.visit("ann", "/")
    await page.get_by_role("link", name="Skip to content").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await page.keyboard.press("/")
    await expect(page.locator("#composer")).to_be_focused()
    await page.keyboard.type("ask bob")
    await page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve")
    await expect(approve).to_be_visible()
    await page.keyboard.press("Escape")
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await approve.evaluate("(e) => e === document.activeElement"):
            break
    await expect(approve).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-answer]")).to_contain_text("approved bob")


async def test_question_mark_lists_the_keys(visitors: Visitors) -> None:
    page = await visitors.visit("ann", "/")
    await page.keyboard.press("Escape")
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.locator("#composer").press_sequentially("?")
    assert await page.input_value("#composer") == "?"
    await expect(page.get_by_role("dialog")).to_be_hidden()


async def test_answers_are_announced_once_they_are_whole(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await home.ask("ann", thread.id, "two")
    await expect(page.locator("#status")).to_have_text("Answered: said two")


async def test_links_within_the_page_keep_it(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", "/")
    await page.evaluate("window.mark = 1")
    await page.get_by_role("link", name=re.compile("Trip")).click()
    await page.wait_for_url(f"**/chats/{thread.id}")
    await expect(page).to_have_title("Trip · Turnback")
    assert await page.evaluate("window.mark") == 1
    await page.go_back()
    await expect(page.get_by_role("heading", name="Say something.")).to_be_visible()


async def test_no_text_of_a_chat_is_kept_in_the_browser(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.get_by_role("link", name="You").click()
    await page.wait_for_url("**/you")
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "said one" not in kept
    assert "Trip" not in kept


async def test_everything_works_without_scripts(visitors: Visitors, home: Lodge) -> None:
    page = await visitors.visit("ann", "/new", java_script_enabled=False)
    await page.fill("textarea", "hello")
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url(re.compile("/chats/"))
    await page.reload()
    assert "said hello" in await page.inner_text("[role=log]")
    await page.fill("textarea", "ask bob")
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="Approve").click()
    await page.reload()
    assert "approved bob" in await page.inner_text("[role=log]")
    await page.fill("textarea", "/undo")
    await page.get_by_role("button", name="Send").click()
    assert "Took 1 turn back" in await page.inner_text(".reply")
    await page.locator(".reply").get_by_role("button", name="Bring back").click()
    assert "approved bob" in await page.inner_text("[role=log]")
    await page.fill("input[type=search]", "hello")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/sidebar?q=hello**")
    assert await page.locator("#chats li").count() == 1


async def test_sign_in_button_signs_in(visitors: Visitors, home: Lodge) -> None:
    page = await visitors.visit(None, await home.link("ann"))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(home.url + "/")
    await expect(page.locator(".rail .me")).to_have_attribute("title", "ann")


async def test_somebody_elses_link_links_only_on_demand(visitors: Visitors, home: Lodge) -> None:
    await home.thread("bob", "Bob’s own", "one")
    page = await visitors.visit("ann", await home.link("bob"))
    await expect(page.get_by_role("heading", name="Whose link is this?")).to_be_visible()
    await page.get_by_role("button", name="Link these").click()
    await page.wait_for_url(home.url + "/")
    await expect(page.locator("#chats")).to_contain_text("Bob’s own")


async def test_session_that_was_ended_elsewhere_leads_to_the_door(visitors: Visitors, home: Lodge) -> None:
    visitors.watch.allowed = ("401", "ERR_ABORTED", "MIME")
    first, second = await visitors.visit("ann", "/you"), await visitors.visit("ann", "/")
    await first.reload()
    await first.get_by_role("button", name="Sign out all others").click()
    await expect(first.get_by_text("this one", exact=True)).to_be_visible()
    await expect(first.get_by_role("button", name=re.compile("Sign out the browser"))).to_have_count(0)
    await second.get_by_role("link", name="New chat").click()
    await second.wait_for_url("**/login")


@pytest.mark.parametrize("path", ["/new", "/chats/{}"])
async def test_what_was_written_after_the_session_ended_stays_and_can_be_sent_when_signed_in_again(
    visitors: Visitors, home: Lodge, path: str
) -> None:
    visitors.watch.allowed = ("401", "ERR_ABORTED", "MIME")
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", path.format(thread.id))
    cookies = await page.context.cookies()
    await page.fill("#composer", "a long thought")
    await page.context.clear_cookies()
    await page.keyboard.press("Enter")
    await expect(page.locator("#alert")).to_contain_text("You are signed out here. Sign in again in another tab")
    await expect(page.locator("#composer")).to_have_value("a long thought")
    await page.context.add_cookies([{"name": c["name"], "value": c["value"], "url": home.url} for c in cookies])
    await page.locator("#composer").press("Enter")
    await expect(page.locator("#turns")).to_contain_text("a long thought")


async def test_page_that_asks_for_a_part_after_its_session_ended_leads_to_the_door(
    visitors: Visitors, home: Lodge
) -> None:
    visitors.watch.allowed = ("401", "ERR_ABORTED", "MIME")
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await page.context.clear_cookies()
    await home.ask("ann", thread.id, "two")
    await expect(page).to_have_url(re.compile("/login$"))
    await expect(page.get_by_role("main")).to_contain_text("This browser is not signed in, or not any more.")
