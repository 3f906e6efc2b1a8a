"""The chat, in a browser: saying, streaming, approving, stopping, going back, commands."""

from __future__ import annotations

import re

from playwright.async_api import expect
from support.browser import PHONE, Lodge, Visitors, go

from turnback.core.models import Surface


async def test_first_message_begins_a_chat(visitors: Visitors) -> None:
    page = await visitors.visit("ann", "/new")
    await page.fill("#composer", "hello there")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(r"/chats/[0-9a-f]{32}"))
    await expect(page.locator("[data-answer]")).to_contain_text("said hello there")
    await expect(page.locator("#chats a[aria-current=page]")).to_contain_text("hello there")


async def test_message_is_answered_without_a_reload(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.evaluate("window.mark = 1")
    await page.fill("#composer", "two")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-answer]").nth(1)).to_contain_text("said two")
    assert await page.input_value("#composer") == ""
    assert await page.evaluate("window.mark") == 1


async def test_answer_is_streamed_and_then_part_of_the_log(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "hold")
    await page.keyboard.press("Enter")
    await expect(page.locator(".stop")).to_be_visible()
    await expect(page.get_by_role("log")).to_have_attribute("aria-busy", "true")
    home.agent.let_go.set()
    await expect(page.locator("[data-answer]").nth(1)).to_contain_text("said hold")
    await expect(page.get_by_role("log")).to_have_attribute("aria-busy", "false")
    await expect(page.locator("#stream")).to_be_hidden()
    await expect(page.locator(".stop")).to_be_hidden()


async def test_tool_calls_are_folded_and_open(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "act bob@example.org")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    call = page.locator(".tool details")
    await expect(call).to_contain_text("send_mail")
    await expect(call.locator("pre").first).to_be_hidden()
    await call.locator("summary").click()
    await expect(call.locator("pre").first).to_contain_text("bob@example.org")
    await page.fill("#composer", "next")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-answer]").nth(1)).to_be_visible()
    await expect(call.first.locator("pre").first).to_be_visible()


async def test_approving_lets_the_turn_go_on(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "ask bob")
    await page.keyboard.press("Enter")
    gate = page.get_by_role("group", name=re.compile("send_mail"))
    await expect(gate).to_contain_text("bob")
    await expect(page.locator("#state")).to_contain_text("Waiting for your answer")
    await gate.get_by_role("button", name="Approve").click()
    await expect(page.locator("[data-answer]")).to_contain_text("approved bob")
    await expect(gate).to_have_count(0)


async def test_denying_is_told_to_the_agent(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "ask bob")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator("[data-answer]")).to_contain_text("denied bob")


async def test_approval_that_was_answered_elsewhere_says_so(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "ask bob")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.route("**/log*", lambda route: route.abort())
    visitors.watch.allowed = ("404", "ERR_FAILED")
    view = await home.service.threads.view(thread.id)
    assert view is not None
    await home.service.turns.decided(await home.actor("ann"), thread.id, view.gates[0].id, False)
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("#alert")).to_contain_text("no longer waiting")


async def test_stop_ends_the_turn(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "hold")
    await page.keyboard.press("Enter")
    await page.fill("#composer", "half a thought")
    await page.locator(".stop").click()
    await expect(page.locator(".aside-note")).to_be_visible()
    await expect(page.locator(".stop")).to_be_hidden()
    assert await page.input_value("#composer") == "half a thought"


async def test_message_sent_meanwhile_waits_its_turn(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "hold")
    await page.keyboard.press("Enter")
    await expect(page.locator("#state")).to_contain_text("waits its turn")
    await page.fill("#composer", "and then")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-waiting]")).to_contain_text("and then")
    home.agent.let_go.set()
    await expect(page.locator("[data-answer]").nth(1)).to_contain_text("said and then")
    await expect(page.locator("[data-waiting]")).to_have_count(0)


async def test_command_is_answered_without_the_model(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "/replay list")
    await page.keyboard.press("Enter")
    card = page.locator(".reply")
    await expect(card).to_contain_text("Steps of this chat")
    link = card.get_by_role("link", name="Time Travel")
    await expect(link).to_have_attribute("href", f"/replay?thread={thread.id}")
    assert len(await home.service.rewind.transcript(await home.actor("ann"), thread.id)) == 2


async def test_fork_command_leads_to_the_fork(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "/fork")
    await page.keyboard.press("Enter")
    await expect(page.locator("#chats ol a")).to_contain_text("from turn 1, step 1")
    await page.locator(".reply").get_by_role("link", name="Open").click()
    await expect(page.locator(".fork-of")).to_contain_text("from Trip, turn 1, step 1")
    await expect(page.locator("h1")).to_contain_text("⑂ Trip")


async def test_menu_closes_when_the_command_is_sent(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}", PHONE)
    await page.locator("#composer").press_sequentially("/fork")
    await expect(page.get_by_role("listbox")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.locator(".reply")).to_be_visible()
    await expect(page.get_by_role("listbox")).to_be_hidden()
    await page.locator(".reply").get_by_role("link", name="Open").click()
    await expect(page.locator(".fork-of")).to_be_visible()


async def test_clear_asks_first(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "/replay clear")
    await page.keyboard.press("Enter")
    question = page.locator(".reply")
    await expect(question).to_be_visible()
    assert (await home.service.steps.totals()).steps == 1
    await question.get_by_role("button").filter(has_text="Delete").first.click()
    await expect(page.locator("#chat-sub")).to_contain_text("0 steps")
    assert (await home.service.steps.totals()).steps == 0


async def test_rewind_shows_the_seam_and_bring_back_undoes_it(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "two", "three")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.locator(".turn").first.get_by_role("button", name="Rewind").click()
    seam = page.locator(".seam")
    await expect(seam).to_contain_text("Restored to turn 1, step 1 by you · 2 turns set aside")
    await expect(page.locator("[data-answer]")).to_have_count(1)
    await seam.get_by_role("button", name="Bring back").click()
    await expect(page.locator("[data-answer]")).to_have_count(3)
    await expect(seam).to_have_count(0)


async def test_seam_stays_when_the_chat_goes_on(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "two")
    await home.service.rewind.undo(await home.actor("ann"), thread.id)
    await home.ask("ann", thread.id, "other")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await expect(page.locator(".seam")).to_contain_text("1 turn set aside here")
    await expect(page.locator(".seam").get_by_role("button", name="Bring back")).to_have_count(0)
    await expect(page.locator(".seam").get_by_role("link", name="Show")).to_be_visible()


async def test_open_tab_follows_a_restore_from_elsewhere(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "two")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await expect(page.locator("[data-answer]")).to_have_count(2)
    first = (await home.service.rewind.list_steps(await home.actor("ann"), thread.id)).steps[0]
    await home.service.rewind.restore(await home.actor("ann", Surface.TELEGRAM), thread.id, first.step.id)
    await expect(page.locator("[data-answer]")).to_have_count(1)
    await expect(page.locator(".seam")).to_be_visible()


async def test_restore_in_one_tab_reloads_another(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one", "two")
    first = (await home.service.rewind.list_steps(await home.actor("ann"), thread.id)).steps[0].step.id
    context = await visitors.context("ann")
    chat = await go(await context.new_page(), f"/chats/{thread.id}")
    steps = await go(await context.new_page(), f"/replay?thread={thread.id}&step={first}")
    await steps.click("#restore")
    await expect(chat.locator("[data-answer]")).to_have_count(1)
    await expect(chat.locator(".seam")).to_contain_text("Restored to turn 1, step 1 by you")
    await chat.locator(".seam").get_by_role("button", name="Bring back").click()
    await expect(steps.locator("#steps .aside")).to_have_count(0)


async def test_tab_of_a_deleted_chat_leaves_it(visitors: Visitors, home: Lodge) -> None:
    visitors.watch.allowed = ("404",)
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await home.service.rewind.delete(await home.actor("ann"), thread.id)
    await page.wait_for_url(home.url + "/")


async def test_refused_message_stays_in_the_box(visitors: Visitors, home: Lodge) -> None:
    visitors.watch.allowed = ("ERR_FAILED", "htmx:sendError", "htmx:afterRequest")
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.route("**/say", lambda route: route.abort())
    await page.fill("#composer", "two")
    await page.keyboard.press("Enter")
    await expect(page.locator("#alert")).to_contain_text("cannot be reached")
    assert await page.input_value("#composer") == "two"
    await page.unroute("**/say")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-answer]").nth(1)).to_contain_text("said two")


async def test_refusal_is_shown_in_words_and_the_button_works_again(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    await page.fill("#composer", "hold")
    await page.keyboard.press("Enter")
    await expect(page.locator(".stop")).to_be_visible()
    rewind = page.locator(".turn").first.get_by_role("button", name="Rewind")
    await rewind.click()
    await expect(page.locator(".reply.bad")).to_contain_text("a turn is running", ignore_case=True)
    home.agent.let_go.set()
    await expect(page.locator("[data-answer]")).to_have_count(2)
    await rewind.click()
    await expect(page.locator(".seam")).to_be_visible()


async def test_slash_offers_commands_by_keyboard(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    box = page.locator("#composer")
    await box.press_sequentially("/rep")
    await expect(page.get_by_role("listbox")).to_be_visible()
    await expect(page.locator("#offered")).to_contain_text("7 commands, arrow")
    await page.keyboard.press("ArrowDown")
    await expect(box).to_have_attribute("aria-activedescendant", "c-1")
    await page.keyboard.press("Enter")
    assert await box.input_value() == "/replay list"
    await expect(page.get_by_role("listbox")).to_be_hidden()
    await page.keyboard.press("Enter")
    await expect(page.locator(".reply")).to_contain_text("Steps of this chat")


async def test_long_answer_is_cut_and_shown_on_demand(visitors: Visitors, home: Lodge) -> None:
    thread = await home.thread("ann", "Trip", "x " * 9000 + "END")
    page = await visitors.visit("ann", f"/chats/{thread.id}")
    answer = page.locator("[data-answer]")
    await expect(answer).not_to_contain_text("END")
    await answer.get_by_role("link", name=re.compile("Show all")).click()
    await expect(answer).to_contain_text("END")


async def test_phone_shows_list_and_chat_as_views_of_their_own(visitors: Visitors, home: Lodge) -> None:
    await home.thread("ann", "Trip", "one")
    page = await visitors.visit("ann", "/", PHONE)
    await page.get_by_role("link", name=re.compile("Trip")).click()
    await expect(page.locator("[data-answer]")).to_be_visible()
    await expect(page.locator("#chats")).to_be_hidden()
    await page.get_by_role("link", name="All chats").click()
    await expect(page.locator("#chats")).to_be_visible()
