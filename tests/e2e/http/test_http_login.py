"""Signing in with a link, in a browser."""

from __future__ import annotations

import html
import re

import httpx2
import pytest
from support.web import House

from turnback.core.models import Action, Outcome
from turnback.web.app import create_app
from turnback.web.guard import Site

Client = httpx2.AsyncClient


async def link_of(house: House, who: str) -> str:
    return await house.service.people.create_link(await house.service.people.ensure_account(who))


def fields(page: str) -> dict[str, str]:
    """What the page's form would send, its buttons aside."""
    return {
        name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    }


async def test_link_signs_a_browser_in(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    shown = await nobody.get("/login", params={"link": link})
    assert shown.status_code == 200
    assert "Sign in" in shown.text
    assert "ann" in shown.text
    assert 'action="/login"' in shown.text
    assert "<script" not in shown.text
    answer = await nobody.post("/login", data=fields(shown.text), headers={"Origin": "http://127.0.0.1:8765"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    page = await nobody.get("/")
    assert page.status_code == 200
    assert "ann" in page.text
    assert (await nobody.get("/api/threads")).status_code == 200


async def test_looking_at_a_link_does_not_use_it_up(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    for method in ("GET", "HEAD", "GET"):
        looked = await nobody.request(method, "/login", params={"link": link})
        assert looked.status_code == 200
        assert "set-cookie" not in looked.headers
    assert (await nobody.post("/login", data={"link": link})).status_code == 303


async def test_link_works_once(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    await nobody.post("/login", data={"link": link})
    async with house.client() as another:
        for answer in (
            await another.post("/login", data={"link": link}),
            await another.get("/login", params={"link": link}),
        ):
            assert answer.status_code == 410
            assert "used already" in answer.text
            assert "set-cookie" not in answer.headers
        assert (await another.get("/api/threads")).status_code == 401


async def test_expired_link_says_so(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    house.clock.advance(minutes=10)
    for answer in (await nobody.get("/login", params={"link": link}), await nobody.post("/login", data={"link": link})):
        assert answer.status_code == 410
        assert "expired" in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("link", ["nonsense", "", "x" * 4000, "<script>alert(1)</script>"])
async def test_unknown_link_says_so(nobody: Client, link: str) -> None:
    for answer in (await nobody.get("/login", params={"link": link}), await nobody.post("/login", data={"link": link})):
        assert answer.status_code == 404
        assert "not a sign-in link" in answer.text
        assert "<script" not in answer.text


async def test_token_is_no_link(house: House, nobody: Client) -> None:
    assert (await nobody.post("/login", data={"link": house.tokens["root"]})).status_code == 404


async def test_tries_are_limited(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    for _ in range(10):
        assert (await nobody.post("/login", data={"link": "nonsense"})).status_code == 404
    answer = await nobody.post("/login", data={"link": link}, headers={"Accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "60"
    assert "Wait a minute" in answer.text
    program = await nobody.post("/login", data={"link": link})
    assert (program.status_code, program.json()["code"]) == (429, "rate_limited")
    assert "set-cookie" not in answer.headers


async def test_names_are_escaped(house: House, nobody: Client) -> None:
    link = await link_of(house, '<img src=x onerror="alert(1)">')
    shown = await nobody.get("/login", params={"link": link})
    assert "<img" not in shown.text
    assert "&lt;img" in shown.text


async def test_titles_and_messages_are_escaped(house: House, ann: Client) -> None:
    thread = (await ann.post("/api/threads", json={"title": "<b>x</b>"})).json()["thread_id"]
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "<script>alert(1)</script>"})
    async with await house.browser("ann") as browser:
        chats, chat = await browser.get("/"), await browser.get(f"/chats/{thread}")
        steps = await browser.get("/replay", params={"thread": thread})
        assert "&lt;b&gt;x&lt;/b&gt;" in chats.text
        assert "<b>x" not in chats.text
        assert "&lt;script&gt;" in chat.text
        assert "<script>alert" not in chat.text
        assert "&lt;script&gt;" in steps.text
        assert "<script>alert" not in steps.text


async def test_foreign_chat_is_not_shown(house: House, thread: str) -> None:
    async with await house.browser("bob") as browser:
        foreign, unknown = await browser.get(f"/chats/{thread}"), await browser.get(f"/chats/{'0' * 32}")
        assert foreign.status_code == 404
        assert foreign.text == unknown.text
        assert (await browser.get("/replay", params={"thread": thread})).status_code == 404
        assert "Trip" not in (await browser.get("/")).text


async def test_somebody_else_is_asked_with_both_names(house: House) -> None:
    link = await link_of(house, "bob")
    async with await house.browser("ann") as browser:
        for answer in (
            await browser.get("/login", params={"link": link}),
            await browser.post("/login", data={"link": link}),
        ):
            assert "ann" in answer.text
            assert "bob" in answer.text
            assert "Link these" in answer.text
            assert "set-cookie" not in answer.headers
        assert "ann" in (await browser.get("/")).text
    assert (await house.service.people.peek_link(link)).state == "good"


async def test_switch_signs_in_as_the_other(house: House) -> None:
    link = await link_of(house, "bob")
    async with await house.browser("ann") as browser:
        old = browser.cookies["turnback_session"]
        browser.cookies.clear()
        answer = await browser.post(
            "/login", data={"link": link, "choice": "switch"}, headers={"Cookie": f"turnback_session={old}"}
        )
        assert answer.status_code == 303
        assert "bob" in (await browser.get("/")).text
        assert await house.service.people.authenticate(old, "session") is None
    assert await house.service.threads.find_account(house.ann.id) is not None


async def test_link_these_joins_the_accounts(house: House, bob: Client) -> None:
    theirs = (await bob.post("/api/threads", json={"title": "Bob's"})).json()["thread_id"]
    link = await link_of(house, "bob")
    async with await house.browser("ann") as browser:
        answer = await browser.post("/login", data={"link": link, "choice": "join"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert [t["thread_id"] for t in (await browser.get("/api/threads")).json()["threads"]] == [theirs]
        assert (await browser.post("/login", data={"link": link, "choice": "join"})).status_code == 410


async def test_join_without_a_sign_in_uses_nothing_up(house: House, nobody: Client) -> None:
    link = await link_of(house, "bob")
    answer = await nobody.post("/login", data={"link": link, "choice": "join"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert (await house.service.people.peek_link(link)).state == "good"


async def test_page_without_a_sign_in_leads_to_login(nobody: Client) -> None:
    for path in ("/", "/chats/x", "/replay"):
        answer = await nobody.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "turnback login" in (await nobody.get("/login")).text


async def test_sign_out_ends_the_session(house: House) -> None:
    async with await house.browser("ann") as browser:
        session = browser.cookies["turnback_session"]
        answer = await browser.post("/logout")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert await house.service.people.authenticate(session, "session") is None


async def test_sign_in_is_audited(house: House, nobody: Client) -> None:
    link = await link_of(house, "ann")
    for _ in range(2):
        await nobody.post("/login", data={"link": link})
    refused, done = await house.service.threads.audit_trail()
    assert (done.action, done.outcome, done.actor) == (Action.LOGIN, Outcome.DONE, "ann")
    assert (refused.action, refused.outcome, refused.code) == (Action.LOGIN, Outcome.REFUSED, "link_used")


async def test_cookie_is_secure_behind_https(house: House) -> None:
    site = Site(host="127.0.0.1", port=8765, public_url="https://bot.example")
    app = create_app(house.service, settings=house.settings, commands=_no_commands, site=site)
    async with Client(transport=httpx2.ASGITransport(app), base_url="http://bot.example") as client:
        origin = {"Origin": "https://bot.example"}
        answer = await client.post("/login", data={"link": await link_of(house, "ann")}, headers=origin)
        assert "secure" in answer.headers["set-cookie"].lower()


async def _no_commands(*_args: object) -> dict[str, object]:
    return {}
