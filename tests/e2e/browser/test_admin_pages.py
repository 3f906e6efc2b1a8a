"""Settings, clean-up, accounts, tokens and audit in a browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from support.browser import DESKTOP, NARROW, Lodge, Visitors, Watch, is_wider_than_screen, lodge, violations
from support.office import PLATFORMS, Office, clock_of

from turnback.core.models import AccountId, Identity, Surface

RETENTION = "#time_travel-retention_days"

PAGES = ("/settings", "/settings/cleanup", "/settings/accounts", "/settings/tokens", "/audit")

TITLE = '<img src=x onerror="document.title=1">\u202e' + "W" * 300
"""A chat's title that tries to be more than text."""


@pytest.fixture
async def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.fixture
async def home(tmp_path: Path, office: Office) -> AsyncIterator[Lodge]:
    """A house with real settings, and four steps that are forty days old."""
    clock = clock_of(days_ago=40)
    async with lodge(
        tmp_path / "data", office.policy, furnish=office.furnish, platforms=lambda: PLATFORMS, clock=clock
    ) as opened:
        for title in (TITLE, "#ops channel"):
            await opened.thread("root", title, "steps 1")
        clock.catch_up()
        yield opened


@pytest.fixture
async def visitors(chromium: Browser, home: Lodge) -> AsyncIterator[Visitors]:
    made = Visitors(chromium, home, Watch())
    yield made
    for context in chromium.contexts:
        await context.close()
    assert made.watch.faults == []


async def test_change_is_counted_saved_and_waits_for_a_restart(visitors: Visitors, office: Office) -> None:
    page = await visitors.visit("root", "/settings")
    bar = page.get_by_role("region", name="Changes")
    await expect(bar).to_be_hidden()
    await page.get_by_label("Port", exact=True).fill("9000")
    await expect(bar).to_contain_text("1 change not saved")
    await expect(bar).to_contain_text("Port")
    await expect(page.locator("[data-key='web.port'] .unsaved")).to_be_visible()
    await expect(page.locator("[data-key='web.port'] .state")).to_be_hidden()
    await page.get_by_role("switch", name="Save steps").click()
    await expect(bar).to_contain_text("2 changes not saved")
    await page.get_by_role("switch", name="Save steps").click()
    await expect(bar).to_contain_text("1 change not saved")
    await bar.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved: Port.")).to_be_visible()
    await expect(page.locator(".waits")).to_contain_text("web.port runs with 8765, will be 9000")
    await expect(page.locator("[data-key='web.port']")).to_contain_text("needs a restart")
    assert office.live is not None
    assert office.live.settings.web.port == 9000


async def test_changes_that_are_discarded_are_gone(visitors: Visitors, office: Office) -> None:
    page = await visitors.visit("root", "/settings")
    await page.get_by_label("Port", exact=True).fill("9000")
    await page.get_by_role("link", name="Discard").click()
    await expect(page.get_by_role("region", name="Changes")).to_be_hidden()
    await expect(page.get_by_label("Port", exact=True)).to_have_value("8765")
    assert office.live is not None
    assert office.live.settings.web.port == 8765


async def test_bad_value_is_told_at_its_field(visitors: Visitors) -> None:
    visitors.watch.allowed = ("422",)
    page = await visitors.visit("root", "/settings")
    await page.fill(RETENTION, "0")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert").filter(has_text="Nothing was saved")).to_be_visible()
    await expect(page.locator(RETENTION)).to_have_attribute("aria-invalid", "true")
    await expect(page.locator(RETENTION)).to_have_accessible_description(re.compile("from 1 to 3650"))
    await page.get_by_role("alert").get_by_role("link", name="Keep steps for").click()
    await expect(page.locator(RETENTION)).to_be_in_viewport()
    assert await violations(page) == []


async def test_lower_retention_is_previewed_while_typing_and_asked_about(visitors: Visitors, office: Office) -> None:
    page = await visitors.visit("root", "/settings")
    await page.fill(RETENTION, "")
    await page.locator(RETENTION).press_sequentially("30")
    await expect(page.locator("#retention-would")).to_have_text("4 steps of 2 chats would go.")
    await page.keyboard.press("Enter")
    ask = page.get_by_role("alert").filter(has_text="Keep steps for 30 days?")
    await expect(ask).to_contain_text("4 steps of 2 chats are older.")
    assert office.policy().retention_days == 90
    assert await violations(page) == []
    await ask.get_by_role("button", name="Save, keep 30 days").click()
    await expect(page.get_by_text("Saved: Keep steps for.")).to_be_visible()
    assert office.policy().retention_days == 30


async def test_clean_up_asks_deletes_and_tells(visitors: Visitors, home: Lodge, office: Office) -> None:
    assert office.live is not None
    await office.live.change(await home.actor("root"), {"time_travel.retention_days": 30})
    page = await visitors.visit("root", "/settings")
    await page.get_by_role("link", name="Clean up now…").click()
    await page.get_by_role("button", name="Delete 4 steps").click()
    await expect(page.get_by_role("heading", name="Nothing to delete")).to_be_visible()
    await expect(page.locator(".cleanup")).to_contain_text("4 steps deleted in 2 chats")
    assert (await home.service.steps.totals()).steps == 0


async def test_secret_is_replaced_with_the_keyboard(visitors: Visitors, office: Office) -> None:
    page = await visitors.visit("root", "/settings")
    option = page.locator("[data-key='telegram.token']")
    await expect(option).to_contain_text("set")
    await option.locator("summary").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type("2:brand-new")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Saved: Telegram token.")).to_be_visible()
    assert "brand-new" not in await page.content()
    assert office.live is not None
    assert office.live.settings.telegram.token is not None
    assert office.live.settings.telegram.token.get_secret_value() == "2:brand-new"


async def test_what_was_set_here_is_taken_back(visitors: Visitors, home: Lodge, office: Office) -> None:
    assert office.live is not None
    await office.live.change(await home.actor("root"), {"web.port": 9000})
    page = await visitors.visit("root", "/settings")
    back = page.get_by_role("button", name="Take back what was set here: Port")
    await page.get_by_label("Address", exact=True).fill("0.0.0.0")
    await back.click()
    await expect(page.locator("#alert")).to_contain_text("Save or discard your other changes first.")
    await page.get_by_label("Address", exact=True).fill("127.0.0.1")
    await back.click()
    await expect(page.get_by_label("Port", exact=True)).to_have_value("8765")
    assert office.live.settings.web.port == 8765


async def test_setting_is_found_by_its_words(visitors: Visitors) -> None:
    page = await visitors.visit("root", "/settings")
    await page.get_by_label("Find a setting").fill("webhook")
    await expect(page.locator(".opt:visible")).to_have_count(2)
    await page.get_by_label("Find a setting").fill("no such thing")
    await expect(page.get_by_text("No setting has that in its name.")).to_be_visible()
    await page.get_by_label("Find a setting").fill("")
    await expect(page.locator("[data-key='web.port']")).to_be_visible()


async def test_settings_are_saved_without_a_script(visitors: Visitors, office: Office) -> None:
    page = await visitors.visit("root", "/settings", java_script_enabled=False)
    await page.fill(RETENTION, "30")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("button", name="Save, keep 30 days").click()
    await expect(page.get_by_text("Saved: Keep steps for.")).to_be_visible()
    assert office.policy().retention_days == 30


async def test_token_is_made_shown_once_and_revoked(visitors: Visitors, home: Lodge) -> None:
    page = await visitors.visit("root", "/settings/tokens")
    await page.get_by_label("Account").fill("root")
    await page.get_by_label("What it is for").fill("nightly <b>import</b>")
    await page.get_by_role("button", name="Make a token").click()
    token = await page.locator("#token").inner_text()
    assert await home.service.people.authenticate(token, "token") is not None
    assert await violations(page) == []
    await page.reload()
    await expect(page.locator("#token")).to_have_count(0)
    assert token not in await page.content()
    row = page.get_by_role("row").filter(has_text="nightly <b>import</b>")
    await row.locator("summary").click()
    await row.get_by_role("button", name="Revoke it").click()
    await expect(page.get_by_text("Revoked.")).to_be_visible()
    assert await home.service.people.authenticate(token, "token") is None


async def test_admin_is_made_after_a_question(visitors: Visitors, home: Lodge) -> None:
    await home.account("Ann")
    page = await visitors.visit("root", "/settings/accounts")
    row = page.get_by_role("row").filter(has_text="Ann")
    await row.locator("summary").click()
    await expect(row).to_contain_text("They see every chat, every setting and the audit trail.")
    await row.get_by_role("button", name="Make admin").click()
    await expect(page.get_by_role("status").filter(has_text="Ann is an admin now.")).to_be_visible()
    assert (await home.service.people.ensure_account("Ann")).admin
    assert await violations(page) == []


async def test_audit_is_filtered_and_exported(visitors: Visitors) -> None:
    page = await visitors.visit("root", "/settings")
    await page.get_by_label("Port", exact=True).fill("9000")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Saved: Port.")).to_be_visible()
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Audit").click()
    await page.get_by_label("Action").select_option("settings")
    await page.get_by_role("button", name="Filter").click()
    await page.wait_for_url("**/audit?*action=settings*")
    await expect(page.locator("tbody tr")).to_have_count(1)
    async with page.expect_download() as waiting:
        await page.get_by_role("link", name="CSV").click()
    download = await waiting.value
    assert re.fullmatch(r"turnback-audit-\d{4}-\d\d-\d\d\.csv", download.suggested_filename)
    lines = Path(await download.path()).read_text().splitlines()
    assert len(lines) == 2
    assert ",web,settings," in lines[1]
    await page.get_by_label("Outcome").select_option("failed")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_text("No line fits these filters.")).to_be_visible()
    await page.locator(".filters").get_by_role("link", name="Clear filters").click()
    await expect(page.locator("tbody tr")).to_have_count(1)


async def test_others_are_told_that_it_is_for_admins(visitors: Visitors) -> None:
    visitors.watch.allowed = ("403",)
    page = await visitors.visit("bob", "/settings")
    await expect(page.get_by_role("alert").first).to_contain_text("Only an admin may see this page.")
    await expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings")).to_have_count(0)
    assert await violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, NARROW], ids=["desktop", "narrow"])
async def test_pages_are_accessible_and_fit(visitors: Visitors, home: Lodge, size: tuple[int, int], theme: str) -> None:
    ann = Identity(surface=Surface.TELEGRAM, user_key="4" * 60, account=AccountId("f" * 32), name=TITLE)
    await home.service.threads.create_account(ann.account, TITLE, home.service.maintenance._clock())
    await home.service.threads.add_identity(ann)
    await home.service.directory.issue_token(await home.actor("root"), "root", "W" * 80)
    context = await visitors.context("root", size, color_scheme=theme)
    page = await context.new_page()
    for path in PAGES:
        await page.goto(path)
        assert (path, await violations(page)) == (path, [])
        assert (path, await is_wider_than_screen(page), await _wide_parts(page)) == (path, False, 0)
        assert await page.title() != "1"


async def _wide_parts(page: Page) -> int:
    """By how many pixels the page's main part scrolls sideways."""
    return int(
        await page.evaluate(
            "Math.max(0, ...[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth))"
        )
    )
