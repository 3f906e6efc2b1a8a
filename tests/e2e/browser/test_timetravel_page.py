"""Time Travel, in a browser: looking, going back and on, forking, comparing, and keeping up with the chat."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Page, Route, expect
from support.browser import DESKTOP, NARROW, PHONE, Lodge, Visitors, go, is_wider_than_screen, violations

from turnback.core.models import StepId, Thread


async def steps(home: Lodge, thread: Thread, who: str = "ann") -> list[StepId]:
    listing = await home.service.rewind.list_steps(await home.actor(who), thread.id, everything=True)
    return [view.step.id for view in listing.steps]


async def head(home: Lodge, thread: Thread) -> StepId | None:
    listing = await home.service.rewind.list_steps(await home.actor("ann"), thread.id)
    return listing.head


async def branched(home: Lodge, title: str = "Trip") -> Thread:
    """Turns 1 to 3; then turn 3 was undone, and another turn 3 follows."""
    thread = await home.thread("ann", title, "one", "steps 2", "act bob@example.org")
    await home.service.rewind.undo(await home.actor("ann"), thread.id)
    await home.ask("ann", thread.id, "other way")
    return thread


def row(page: Page, step: StepId) -> str:
    return f'#steps a.step[href$="step={step}"]'


async def test_opening_a_step_swaps_it_in_with_its_own_address(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await page.evaluate("window.mark = 1")
    await page.click(row(page, first))
    await expect(page.locator("#opened h1")).to_have_text("Turn 1, step 1")
    await expect(page.locator("#opened h1")).to_be_focused()
    await expect(page.locator(row(page, first))).to_have_attribute("aria-current", "true")
    await expect(page.locator(".lanes .open")).to_have_count(1)
    await expect(page.locator("#would dl")).to_contain_text("2 turns set aside")
    assert page.url.endswith(f"step={first}")
    assert await page.title() == "Turn 1, step 1 · Trip · Time Travel · Turnback"
    assert await page.evaluate("window.mark") == 1
    await page.go_back()
    await expect(page.locator("#opened h1")).to_have_count(0)


async def test_a_dot_of_the_picture_leads_to_its_step(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, second, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await page.locator(f'.lanes a[href$="step={second}"]').click()
    await expect(page.locator("#opened h1")).to_have_text("Turn 2, step 1")
    assert await page.locator(".lanes a:not([tabindex='-1'])").count() == 0
    assert first


async def test_restore_and_bring_back(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_, last = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await page.click("#restore")
    await expect(page.locator("#note")).to_contain_text("Restored. Your next message continues from here.")
    assert await head(home, thread) == first
    await expect(page.locator("#steps .head")).to_have_count(1)
    await expect(page.locator("#would h2")).to_have_text("The chat stands here")
    await expect(page).to_have_url(re.compile(rf"/replay\?thread={thread.id}&step={first}$"))
    await page.locator("#note").get_by_role("button", name="Bring back").click()
    await expect(page.locator("#note")).to_contain_text("Brought back.")
    assert await head(home, thread) == last


async def test_what_was_set_aside_comes_back_from_its_bar(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    bar = page.locator("#steps .aside")
    await expect(bar).to_contain_text("1 turn set aside")
    await bar.get_by_role("button", name="Bring back").click()
    await expect(page.locator("#note")).to_contain_text("Restored.")
    await expect(page.locator("#opened h1")).to_have_text("Turn 3, step 2")


async def test_folds_open_and_close_and_stay_over_a_reload(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await expect(page.locator("#steps a.step")).to_have_count(7)
    await page.get_by_role("button", name="Hide").click()
    await expect(page.locator("#steps a.step")).to_have_count(5)
    await page.reload()
    await expect(page.locator("#steps a.step")).to_have_count(5)
    await page.get_by_role("button", name="Show 2 steps").click()
    await expect(page.locator("#steps a.step")).to_have_count(7)
    await page.get_by_role("switch").click()
    await expect(page.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    await expect(page.locator("#steps .aside")).to_have_count(0)


async def test_page_keeps_up_without_a_reload_and_keeps_the_focus(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await page.evaluate("window.mark = 1")
    await page.focus(row(page, first))
    await home.ask("ann", thread.id, "a newer thing")
    await expect(page.locator("#steps")).to_contain_text("a newer thing")
    await expect(page.locator("#would dl")).to_contain_text("3 turns set aside")
    await expect(page.locator(row(page, first))).to_be_focused()
    await home.service.rewind.restore(await home.actor("ann"), thread.id, first)
    await expect(page.locator("#would h2")).to_have_text("The chat stands here")
    await expect(page.locator(row(page, first)).locator(".head")).to_be_visible()
    assert await page.evaluate("window.mark") == 1


async def test_click_outlives_a_refresh_in_its_middle(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await page.hover(row(page, first))
    await page.mouse.down()
    async with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "steps"):
        await home.ask("ann", thread.id, "a newer thing")
    await page.mouse.up()
    await expect(page.locator("#opened h1")).to_have_text("Turn 1, step 1")
    await expect(page.locator("#steps")).to_contain_text("a newer thing")


async def test_note_stays_to_be_read_while_the_list_moves_on(visitors: Visitors, home: Lodge) -> None:
    visitors.watch.allowed = ("404",)
    thread = await branched(home)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step=00000000")
    async with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "overview") as come:
        await home.ask("ann", thread.id, "a newer thing")
    await (await come.value).finished()
    await page.evaluate("new Promise((done) => setTimeout(done, 100))")  # where it would be shown
    await expect(page.locator("#steps")).to_contain_text("a newer thing")
    await expect(page.locator("#note")).to_contain_text("There is no such step here")


async def test_click_counts_although_a_new_preview_comes_before_its_page(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")

    async def change_meanwhile(route: Route) -> None:
        async with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "would") as come:
            await home.ask("ann", thread.id, "something else")
        await (await come.value).finished()
        await page.evaluate("new Promise((done) => setTimeout(done, 100))")  # where it would be shown
        await route.continue_()

    await page.route("**/replay/compare?*", change_meanwhile)
    await page.click("#compare")
    await expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    await expect(page).to_have_url(re.compile("/replay/compare"))


async def test_a_running_turn_is_in_the_way_until_it_ends(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await home.service.turns.send(await home.actor("ann"), thread.id, "hold")
    await expect(page.locator("#why")).to_contain_text("Not now: a turn is running. Stop it or wait.")
    await expect(page.locator("#restore")).to_have_attribute("aria-disabled", "true")
    await page.locator("#restore").click(force=True)
    await expect(page.locator("#alert")).to_contain_text("a turn is running")
    home.agent.let_go.set()
    await expect(page.locator("#why")).to_have_count(0)
    await expect(page.locator("#restore")).not_to_have_attribute("aria-disabled", "true")


async def test_an_approval_in_the_way_is_one_link_away(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    await home.ask("ann", thread.id, "ask bob")
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await expect(page.locator("#why")).to_contain_text("Not now: an approval is waiting.")
    await page.get_by_role("link", name="Show it").click()
    await page.wait_for_url(re.compile(rf"/chats/{thread.id}"))


async def test_fork_opens_the_new_chat(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await page.click("#fork")
    await page.wait_for_url(re.compile(r"/chats/[0-9a-f]{32}$"))
    assert thread.id not in page.url
    await go(page, f"/replay?thread={thread.id}")
    await expect(page.locator(row(page, first)).locator(".fork")).to_be_visible()
    await expect(page.locator(".lanes .ch")).to_have_count(1)


async def test_label_is_set_moved_refused_and_taken_off(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    await page.click("#label")
    await page.fill("#name", "before-trip")
    await page.keyboard.press("Enter")
    await expect(page.locator(row(page, first)).locator(".star")).to_contain_text("before-trip")
    await expect(page.locator("#note")).to_contain_text("The label is set.")
    await page.click("#label")
    await page.fill("#name", "")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#steps .star")).to_have_count(0)


async def test_label_box_stays_open_although_a_new_preview_was_on_its_way(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={first}")
    asked, written = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        if route.request.headers.get("hx-target") == "would":
            asked.set()
            await written.wait()
        await route.continue_()

    await page.route("**/replay?*", hold)
    await home.ask("ann", thread.id, "something else")
    await asked.wait()
    await page.click("#label")
    await page.fill("#name", "before-trip")
    async with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "would") as come:
        written.set()
    await (await come.value).finished()
    await page.evaluate("new Promise((done) => setTimeout(done, 100))")  # where it would be shown
    await expect(page.locator("#name")).to_have_value("before-trip")
    await page.keyboard.press("Enter")
    await expect(page.locator(row(page, first)).locator(".star")).to_contain_text("before-trip")


async def test_clear_asks_first(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await page.get_by_role("link", name="Clear steps").first.click()
    await expect(page.locator("#opened h1")).to_have_text("Delete all 7 steps?")
    assert len(await steps(home, thread)) == 7
    await page.get_by_role("link", name="Cancel").click()
    await expect(page.locator("#opened h1")).to_have_count(0)
    await page.get_by_role("link", name="Clear steps").first.click()
    await page.get_by_role("button", name="Delete steps").click()
    await expect(page.locator("#steps")).to_contain_text("No steps yet. One is saved after each step of the next turn.")
    assert await steps(home, thread) == []


async def test_compare_shows_what_differs(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "set plan go by train at nine")
    (_, older) = await steps(home, thread)
    await home.service.rewind.undo(await home.actor("ann"), thread.id)
    await home.ask("ann", thread.id, "set plan go by bus at nine")
    page = await visitors.visit("ann", f"/replay?thread={thread.id}&step={older}")
    await page.click("#compare")
    await page.wait_for_url("**/replay/compare?*")
    await expect(page.locator("h1")).to_have_text("Compare")
    await expect(page.locator(".fold summary")).to_contain_text("2 messages in common")
    await expect(page.locator(".fold ol")).to_be_hidden()
    await expect(page.locator(".only.a del").first).to_have_text("train")
    await expect(page.locator(".only:not(.a) ins").first).to_have_text("bus")
    change = page.locator(".tbl tbody tr")
    await expect(change).to_contain_text("changed")
    await expect(change.locator("code")).to_have_text("plan")
    await expect(change.locator("del")).to_have_text("train")
    await page.get_by_role("link", name="Swap").click()
    await expect(page.locator(".only.a del").first).to_have_text("bus")
    await page.select_option("#b", value="")
    await expect(page.locator(".note.ok")).to_contain_text("The two are the same")


async def test_keyboard_alone_is_enough(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}")
    await expect(page.locator("#steps .head")).to_be_visible()
    for _ in range(7):
        await page.keyboard.press("k")
    await expect(page.locator(row(page, first))).to_be_focused()
    await page.keyboard.press("]")
    await expect(page.locator("#steps a.step").nth(1)).to_be_focused()
    await page.keyboard.press("[")
    await page.keyboard.press("Enter")
    await expect(page.locator("#opened h1")).to_have_text("Turn 1, step 1")
    await page.keyboard.press("f")
    await expect(page.locator("#fork")).to_be_focused()
    await page.keyboard.press("r")
    await expect(page.locator("#restore")).to_be_focused()
    assert await head(home, thread) != first
    await page.keyboard.press("Enter")
    await expect(page.locator("#note")).to_contain_text("Restored.")
    await page.keyboard.press("Escape")
    await expect(page.locator("#opened h1")).to_have_count(0)


async def test_picker_leads_to_another_conversation(visitors: Visitors, home: Lodge) -> None:
    other = await home.thread("ann", "Elsewhere", "far away")
    await branched(home)
    page = await visitors.visit("ann", "/replay")
    await expect(page.locator("#thread")).to_contain_text("Trip")
    await page.select_option("#thread", value=other.id)
    await expect(page.locator("#steps")).to_contain_text("far away")
    assert page.url.endswith(f"thread={other.id}")


async def test_phone_shows_list_and_step_each_as_a_view(visitors: Visitors, home: Lodge) -> None:
    thread = await branched(home)
    first, *_ = await steps(home, thread)
    page = await visitors.visit("ann", f"/replay?thread={thread.id}", PHONE)
    await expect(page.locator("#steps")).to_be_visible()
    await expect(page.locator("#opened")).to_be_hidden()
    await page.click(row(page, first))
    await expect(page.locator("#opened h1")).to_be_visible()
    await expect(page.locator("#steps")).to_be_hidden()
    await page.get_by_role("link", name="Steps", exact=True).click()
    await expect(page.locator("#steps")).to_be_visible()
    await page.get_by_role("link", name="Clear steps").last.click()
    await expect(page.get_by_role("button", name="Delete steps")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_is_wrong_for_screen_readers_or_too_wide(visitors: Visitors, home: Lodge, scheme: str) -> None:
    thread = await branched(home)
    ids = await steps(home, thread)
    await home.service.rewind.label(await home.actor("ann"), thread.id, ids[0], "before-trip")
    at = f"thread={thread.id}"
    paths = [
        f"/replay?{at}",
        f"/replay?{at}&step={ids[0]}",
        f"/replay?{at}&step={ids[-2]}",
        f"/replay/compare?{at}&a={ids[4]}",
        f"/replay/clear?{at}",
        "/replay/chats",
    ]
    for size in (DESKTOP, NARROW):
        page = await visitors.visit("ann", paths[0], size, color_scheme=scheme)
        for path in paths:
            await page.goto(path)
            assert await violations(page) == [], path
            assert not await is_wider_than_screen(page), path
        await page.context.close()


EVIL = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>\u202e\u2066gnp.exe"


async def test_markup_and_long_words_in_anything_are_only_text(visitors: Visitors, home: Lodge) -> None:
    long = "W" * 10_000
    thread = await home.thread("ann", EVIL, EVIL, f"set {EVIL.split(maxsplit=1)[0]} {EVIL}", f"act {long}", long)
    ids = await steps(home, thread)
    await home.service.rewind.fork(await home.actor("ann"), thread.id, ids[0])
    await home.service.rewind.restore(await home.actor("ann"), thread.id, ids[1])
    at = f"thread={thread.id}"
    for size in (DESKTOP, NARROW):
        page = await visitors.visit("ann", "/replay/chats", size)
        paths = [f"/replay?{at}", *(f"/replay?{at}&step={step}" for step in ids), f"/replay/compare?{at}&a={ids[-1]}"]
        for path in paths:
            await page.goto(path)
            await page.locator("details:not([open]) > summary").evaluate_all("all => all.forEach((s) => s.click())")
            assert await page.title() != "pwned", path
            assert await page.locator("main img, main script").count() == 0, path
            assert not await is_wider_than_screen(page), path
        await page.context.close()
