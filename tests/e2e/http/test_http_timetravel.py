"""The pages of Time Travel without a script: forms, redirects, refusals in place, and who may see what."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from html import unescape

import httpx2
import pytest
from support.listings import straight
from support.web import House

from turnback.core.answers import Listing
from turnback.core.models import Actor, StepId, Surface
from turnback.web.timetravel.layout import Choice, Layout, lay_out


def actor_of(house: House, name: str = "ann") -> Actor:
    account = getattr(house, name)
    return Actor(account=account.id, surface=Surface.WEB, admin=account.admin, name=account.name)


@pytest.fixture
async def browser(house: House) -> AsyncIterator[httpx2.AsyncClient]:
    """Ann's browser, without scripts."""
    client = await house.browser("ann")
    async with client:
        yield client


@pytest.fixture
async def trip(house: House) -> str:
    """A chat of Ann's with three turns, the last of which was undone, and one more."""
    ann = actor_of(house)
    thread = await house.service.rewind.create_thread(ann, "Trip")
    for text in ("one", "steps 2", "act bob@example.org"):
        await house.service.turns.ask(ann, thread.id, text)
    await house.service.rewind.undo(ann, thread.id)
    await house.service.turns.ask(ann, thread.id, "other way")
    return thread.id


async def ids(house: House, thread: str) -> list[StepId]:
    listing = await house.service.rewind.list_steps(actor_of(house), thread, everything=True)
    return [view.step.id for view in listing.steps]


async def head(house: House, thread: str) -> StepId | None:
    return (await house.service.rewind.list_steps(actor_of(house), thread)).head


def fields(html: str, action: str) -> dict[str, str]:
    """The hidden fields of the last form with an action: those of bars in the list come first."""
    forms = re.findall(rf'<form method="post" action="{re.escape(action)}".*?</form>', html, re.DOTALL)
    assert forms, action
    return {
        name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', forms[-1])
    }


async def test_the_page_lists_turns_steps_and_marks(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    await house.service.rewind.label(actor_of(house), trip, (await ids(house, trip))[0], "start")
    answer = await browser.get(f"/replay?thread={trip}")
    html = answer.text
    assert answer.status_code == 200
    assert html.count('class="step"') == 7
    assert "a branch leaves here" in html
    assert "set aside</span>" in html
    assert "<code>note</code>" in html
    assert ">head<" in html
    assert "start" in html
    assert "Branch picture: The path runs from turn 1 to turn 3." in html


async def test_without_a_conversation_the_newest_is_shown(browser: httpx2.AsyncClient, trip: str) -> None:
    assert f'value="{trip}" selected' in (await browser.get("/replay")).text


async def test_who_has_no_conversation_is_told_how_to_begin(house: House) -> None:
    async with await house.browser("bob") as bob:
        assert "No conversations yet" in (await bob.get("/replay")).text


async def test_conversations_are_listed_with_what_they_use(browser: httpx2.AsyncClient, trip: str) -> None:
    html = (await browser.get("/replay/chats")).text
    assert f'href="/replay?thread={trip}"' in html
    assert 'class="num">7<' in html


async def test_restore_without_a_script(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first = (await ids(house, trip))[0]
    page = await browser.get(f"/replay?thread={trip}&step={first}")
    answer = await browser.post("/replay/restore", data=fields(page.text, "/replay/restore"))
    assert answer.status_code == 303
    assert await head(house, trip) == first
    shown = await browser.get(answer.headers["location"])
    assert "Restored. Your next message continues from here." in shown.text
    back = await browser.post("/replay/redo", data=fields(shown.text, "/replay/redo"))
    assert back.status_code == 303
    assert await head(house, trip) != first


async def test_a_stale_bring_back_changes_nothing(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first = (await ids(house, trip))[0]
    page = await browser.get(f"/replay?thread={trip}&step={first}")
    answer = await browser.post("/replay/restore", data=fields(page.text, "/replay/restore"))
    shown = await browser.get(answer.headers["location"])
    await house.service.turns.ask(actor_of(house), trip, "newer")
    stands = await head(house, trip)
    refused = await browser.post("/replay/redo", data=fields(shown.text, "/replay/redo"))
    assert refused.status_code == 409
    assert 'role="alert"' in refused.text
    assert await head(house, trip) == stands


async def test_restoring_during_a_turn_is_refused_in_place(
    browser: httpx2.AsyncClient, house: House, trip: str
) -> None:
    first = (await ids(house, trip))[0]
    page = await browser.get(f"/replay?thread={trip}&step={first}")
    await house.service.turns.send(actor_of(house), trip, "hold")
    await house.agent.held.wait()
    refused = await browser.post("/replay/restore", data=fields(page.text, "/replay/restore"))
    house.agent.let_go.set()
    assert refused.status_code == 409
    assert "Not now: a turn is running. Stop it or wait." in refused.text
    assert "Turn 1, step 1" in refused.text
    assert refused.headers["hx-push-url"] == "false"


async def test_fork_leads_to_the_new_chat(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first = (await ids(house, trip))[0]
    answer = await browser.post("/replay/fork", data={"thread": trip, "step": first})
    assert answer.status_code == 303
    made = re.fullmatch(r"/chats/([0-9a-f]{32})", answer.headers["location"])
    assert made is not None
    assert made[1] != trip


@pytest.mark.parametrize("label", ["two words", "a" * 33, "<b>"])
async def test_a_label_that_is_none_is_refused_in_words(
    browser: httpx2.AsyncClient, house: House, trip: str, label: str
) -> None:
    first = (await ids(house, trip))[0]
    answer = await browser.post("/replay/label", data={"thread": trip, "step": first, "label": label})
    assert answer.status_code == 422
    assert "A label is 1 to 32 letters, digits, _ or -." in answer.text


async def test_clear_needs_a_post(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    asked = await browser.get(f"/replay/clear?thread={trip}")
    assert "Delete all 7 steps?" in asked.text
    assert len(await ids(house, trip)) == 7
    assert (await browser.post("/replay/clear", data=fields(asked.text, "/replay/clear"))).status_code == 303
    assert await ids(house, trip) == []


async def test_when_going_back_deletes_the_form_says_yes_to_that(
    browser: httpx2.AsyncClient, house: House, trip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"key": "time_travel.on_restore", "running": "discard"}]
    monkeypatch.setattr(house.settings, "rows", lambda: rows)
    first = (await ids(house, trip))[0]
    page = await browser.get(f"/replay?thread={trip}&step={first}")
    assert "turns deleted for good" in page.text
    form = fields(page.text, "/replay/restore")
    without = await browser.post("/replay/restore", data={**form, "discard": ""})
    assert without.status_code == 422
    assert await head(house, trip) != first
    assert (await browser.post("/replay/restore", data=form)).status_code == 303
    assert await head(house, trip) == first


async def test_a_part_is_sent_where_a_part_is_asked_for(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first = (await ids(house, trip))[0]
    whole = await browser.get(f"/replay?thread={trip}&step={first}")
    headers = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "opened"}
    opened = await browser.get(f"/replay?thread={trip}&step={first}", headers=headers)
    assert opened.text.count('<section id="opened"') == 1
    assert 'hx-swap-oob="true"' in opened.text
    assert "<nav" not in opened.text
    assert "<nav" in whole.text
    listed = await browser.get(f"/replay?thread={trip}&step={first}", headers={**headers, "HX-Target": "steps"})
    assert listed.text.lstrip().startswith("<nav")
    assert 'aria-current="true"' in listed.text


async def test_a_step_that_is_removed_while_it_is_read_says_so(
    browser: httpx2.AsyncClient, house: House, trip: str
) -> None:
    first = (await ids(house, trip))[0]
    await house.service.rewind.clear(actor_of(house), trip)
    headers = {"HX-Request": "true", "HX-Target": "would"}
    answer = await browser.get(f"/replay?thread={trip}&step={first}", headers=headers)
    assert answer.status_code == 200
    assert "This step was removed." in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/replay?thread={t}",
        "/replay?thread={t}&step={s}",
        "/replay/clear?thread={t}",
        "/replay/state?thread={t}&step={s}",
        "/replay/compare?thread={t}&a={s}",
        "/replay?thread=../../etc",
        "/replay?thread=%00",
        "/replay/compare?thread=x&a=y",
    ],
)
async def test_a_foreign_or_senseless_conversation_is_not_there(house: House, trip: str, path: str) -> None:
    first = (await ids(house, trip))[0]
    async with await house.browser("bob") as bob:
        answer = await bob.get(path.format(t=trip, s=first))
    assert answer.status_code == 404
    assert "Trip" not in answer.text
    assert "other way" not in answer.text


@pytest.mark.parametrize("act", ["restore", "redo", "fork", "label", "clear"])
async def test_nothing_is_done_to_a_foreign_conversation(house: House, trip: str, act: str) -> None:
    first, *_ = before = await ids(house, trip)
    stands = await head(house, trip)
    async with await house.browser("bob") as bob:
        answer = await bob.post(f"/replay/{act}", data={"thread": trip, "step": first, "label": "x", "only": ""})
    assert answer.status_code == 404
    assert (await ids(house, trip), await head(house, trip)) == (before, stands)


@pytest.mark.parametrize("act", ["restore", "redo", "fork", "label", "clear"])
async def test_a_form_of_another_site_is_refused(browser: httpx2.AsyncClient, trip: str, act: str) -> None:
    answer = await browser.post(
        f"/replay/{act}", data={"thread": trip}, headers={"Origin": "https://evil.example", "Host": "127.0.0.1:8765"}
    )
    assert answer.status_code == 403


@pytest.mark.parametrize("thread", ["//evil.example", "https://evil.example", "\\evil"])
async def test_no_form_leads_elsewhere(browser: httpx2.AsyncClient, thread: str) -> None:
    for act in ("restore", "redo", "fork", "label", "clear"):
        answer = await browser.post(f"/replay/{act}", data={"thread": thread, "step": "abcd"})
        assert answer.status_code == 404
        assert "location" not in answer.headers


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"step": "zzzz"}, 404),
        ({"step": "ab"}, 422),
        ({"step": "%_%_"}, 404),
        ({"step": "@nothing"}, 404),
        ({"messages": "-1"}, 200),
        ({"messages": "9" * 400}, 200),
        ({"open": "b1.<script>", "shut": "'", "aside": "maybe", "done": "<b>"}, 200),
    ],
)
async def test_a_senseless_address_is_answered_in_place(
    browser: httpx2.AsyncClient, trip: str, query: Mapping[str, str], status: int
) -> None:
    answer = await browser.get("/replay", params={"thread": trip, **query})
    assert answer.status_code == status
    assert 'id="steps"' in answer.text
    assert "<script>" not in answer.text


async def test_everything_that_people_write_is_escaped(browser: httpx2.AsyncClient, house: House) -> None:
    evil = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e"
    ann = actor_of(house)
    thread = await house.service.rewind.create_thread(ann, evil)
    for text in (evil, f"set key {evil}", f"act {evil}"):
        await house.service.turns.ask(ann, thread.id, text)
    steps = await ids(house, thread.id)
    await house.service.rewind.fork(ann, thread.id, steps[0])
    await house.service.rewind.restore(ann, thread.id, steps[1])
    paths = [
        "/replay/chats",
        f"/replay/clear?thread={thread.id}",
        f"/replay/compare?thread={thread.id}&a={steps[-1]}",
        *(f"/replay?thread={thread.id}&step={step}" for step in steps),
    ]
    for path in paths:
        html = (await browser.get(path)).text
        assert "<script>alert" not in html, path
        assert "<img" not in html, path
        assert "\u202e" not in html, path


async def test_compare_takes_a_fork_for_its_other_end(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first, *_ = await ids(house, trip)
    made = await house.service.rewind.fork(actor_of(house), trip, first)
    await house.service.turns.ask(actor_of(house), made.thread.id, "in the fork")
    html = (await browser.get(f"/replay/compare?thread={trip}&a={first}&b={made.thread.id}:")).text
    assert "in the fork" in html
    assert "Forks and their origin" in html
    assert f'value="{made.thread.id}:" selected' in html


async def test_the_state_is_given_whole(browser: httpx2.AsyncClient, house: House, trip: str) -> None:
    first = (await ids(house, trip))[0]
    state = (await browser.get(f"/replay/state?thread={trip}&step={first}")).json()
    assert state == (await house.service.rewind.show(actor_of(house), trip, first)).state


async def test_a_thousand_turns_make_a_page_under_200_kb(house: House, browser: httpx2.AsyncClient) -> None:
    ann = actor_of(house)
    thread = await house.service.rewind.create_thread(ann, "Long")
    sizes = []
    for number in range(50):
        await house.service.turns.ask(ann, thread.id, f"{'wide ' * 14} {number}")
        if number in (24, 49):
            sizes.append(len((await browser.get(f"/replay?thread={thread.id}")).content))
    per_step = (sizes[1] - sizes[0]) / 25
    layouts = [laid_out(straight(turns)) for turns in (950, 1000, 1049, 1100)]
    most = max(len(layout.steps()) + sum(row.kind == "stretch" for row in layout.rows) for layout in layouts)
    assert sizes[0] + per_step * most < 200_000  # the bar of a stretch takes less than a turn with its step


def laid_out(shown: Listing) -> Layout:
    return lay_out(shown.turns, shown.steps, Choice())
