"""The pages of chats over HTTP: who sees what, what a forged or foreign request changes, what an answer carries."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import httpx2
import pytest
from support.web import House

from turnback.web.pages.assets import STATIC, asset_url, squeezed

Client = httpx2.AsyncClient

PAGES = ("/", "/new", "/you", "/sidebar", "/chats/{t}", "/chats/{t}/log", "/chats/{t}/about")
POSTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/new", {"text": "hello"}),
    ("/chats/{t}/say", {"text": "hello"}),
    ("/chats/{t}/say", {"text": "/undo"}),
    ("/chats/{t}/stop", {}),
    ("/chats/{t}/rename", {"title": "Mine now"}),
    ("/chats/{t}/delete", {}),
    ("/chats/{t}/forget/" + "0" * 32, {}),
    ("/chats/{t}/approvals/" + "0" * 32, {"answer": "approve"}),
)


async def chat(house: House, client: Client, *said: str) -> str:
    thread = str((await client.post("/api/threads", json={"title": "Trip"})).json()["thread_id"])
    for text in said:
        await client.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    return thread


async def test_pages_allow_no_inline_script_and_no_other_host(house: House, ann: Client) -> None:
    thread = await chat(house, ann, "one")
    async with await house.browser("ann") as browser:
        for path in PAGES:
            answer = await browser.get(path.format(t=thread))
            assert answer.status_code == 200, path
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
            assert "unsafe" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:", answer.text)
            assert not re.search(r'(?:href|src|action)="(?:https?:)?//', answer.text)


@pytest.mark.parametrize("path", PAGES[4:])
async def test_foreign_chat_is_one_that_is_not_there(house: House, ann: Client, path: str) -> None:
    thread = await chat(house, ann, "secret")
    async with await house.browser("bob") as browser:
        foreign, unknown = await browser.get(path.format(t=thread)), await browser.get(path.format(t="0" * 32))
        assert foreign.status_code == unknown.status_code == 404
        assert re.sub(r"stream-at=\S+", "", foreign.text) == re.sub(r"stream-at=\S+", "", unknown.text)
        assert "secret" not in foreign.text


@pytest.mark.parametrize(("path", "fields"), POSTS[1:])
async def test_foreign_chat_is_not_changed(house: House, ann: Client, path: str, fields: dict[str, str]) -> None:
    thread = await chat(house, ann, "one")
    before = (await ann.get(f"/api/threads/{thread}/messages")).json()
    async with await house.browser("bob") as browser:
        answer = await browser.post(path.format(t=thread), data=fields)
        assert answer.status_code == 404
    assert (await ann.get(f"/api/threads/{thread}/messages")).json() == before
    assert (await ann.get(f"/api/threads/{thread}")).json()["title"] == "Trip"


@pytest.mark.parametrize(("path", "fields"), [*POSTS, ("/you/theme", {"theme": "dark"}), ("/you/sessions/end", {})])
async def test_form_of_another_page_changes_nothing(
    house: House, ann: Client, path: str, fields: dict[str, str]
) -> None:
    thread = await chat(house, ann, "one")
    before = (await ann.get(f"/api/threads/{thread}/messages")).json()
    async with await house.browser("ann") as browser:
        for origin in ("http://evil.example", "null"):
            answer = await browser.post(path.format(t=thread), data=fields, headers={"Origin": origin})
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers
    assert (await ann.get(f"/api/threads/{thread}/messages")).json() == before
    assert len((await ann.get("/api/threads")).json()["threads"]) == 1


@pytest.mark.parametrize("path", PAGES)
async def test_page_under_another_name_is_refused(house: House, ann: Client, path: str) -> None:
    thread = await chat(house, ann, "secret")
    async with await house.browser("ann") as browser:
        answer = await browser.get(path.format(t=thread), headers={"Host": "rebound.example"})
        assert answer.status_code == 403
        assert "secret" not in answer.text


@pytest.mark.parametrize("path", [*PAGES[:3], "/chats/x", "/sidebar"])
async def test_nobody_is_led_to_the_door(nobody: Client, path: str) -> None:
    answer = await nobody.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    part = await nobody.get(path, headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (401, "/login")


@pytest.mark.parametrize(
    "thread", ["..", "%2e%2e", "//evil.example", "\\evil.example", "0" * 31, "<script>", "0" * 4000]
)
async def test_odd_ids_lead_nowhere(house: House, thread: str) -> None:
    async with await house.browser("ann") as browser:
        for path, fields in POSTS[1:]:
            answer = await browser.post(path.format(t=thread), data=fields)
            assert answer.status_code in (404, 405, 422)
            assert "location" not in answer.headers


async def test_unknown_page_is_a_page_for_people_and_a_problem_for_programs(house: House, ann: Client) -> None:
    async with await house.browser("ann") as browser:
        answer = await browser.get("/nothing", headers={"Accept": "text/html"})
        assert answer.status_code == 404
        assert "There is no such page." in answer.text
    assert (await ann.get("/nothing")).json()["code"] == "not_found"
    assert (await ann.get("/api/nothing", headers={"Accept": "text/html"})).json()["code"] == "not_found"


async def test_titles_names_and_messages_are_text(house: House, ann: Client) -> None:
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    thread = (await ann.post("/api/threads", json={"title": evil})).json()["thread_id"]
    for text in (evil, f"act {evil}", f"remember {evil}", f"ask {evil}"):
        await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    async with await house.browser("ann") as browser:
        for path in (*PAGES, f"/sidebar?q={evil}&at={evil}"):
            text = (await browser.get(path.format(t=thread))).text
            assert "<script>alert" not in text
            assert "<img" not in text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("[x](javascript:alert(1))", 'javascript:alert(1)"'),
        ("[x](data:text/html,<script>1</script>)", 'href="data:'),
        ("![x](https://evil.example/p.png)", "<img"),
        ("<iframe src=//evil.example></iframe>", "<iframe"),
        ("| a |\n|--:|\n| b |", "style="),
        ("`<b>`", "<b>`"),
    ],
)
async def test_markdown_of_an_answer_cannot_reach_out(house: House, ann: Client, text: str, gone: str) -> None:
    thread = await chat(house, ann, text)
    async with await house.browser("ann") as browser:
        shown = (await browser.get(f"/chats/{thread}/log")).text
        assert gone not in shown[shown.index("data-answer") :]


async def test_line_cannot_be_turned_around(house: House, ann: Client) -> None:
    thread = (await ann.post("/api/threads", json={"title": "a\u202egpj.exe"})).json()["thread_id"]
    async with await house.browser("ann") as browser:
        page = (await browser.get(f"/chats/{thread}")).text
    assert "\u202e" not in page
    assert "<bdi>agpj.exe</bdi>" in page


async def test_command_is_answered_as_everywhere(house: House) -> None:
    async with await house.browser("ann") as browser:
        thread = await chat(house, browser, "one")
        part = await browser.post(f"/chats/{thread}/say", data={"text": "/help me"}, headers={"HX-Request": "true"})
        assert (part.status_code, part.text.count("<section")) == (200, 1)
        assert f"{thread}: /help me" in part.text
        whole = await browser.post(f"/chats/{thread}/say", data={"text": "/help me"})
        assert f"{thread}: /help me" in whole.text
        assert "<!doctype html>" in whole.text


async def test_blank_message_is_refused_in_words(house: House) -> None:
    async with await house.browser("ann") as browser:
        thread = await chat(house, browser)
        for path in ("/new", f"/chats/{thread}/say"):
            answer = await browser.post(path, data={"text": "  "}, headers={"HX-Request": "true"})
            assert answer.status_code == 422
            assert "A message needs some text." in answer.text


async def test_fork_is_listed_under_its_origin_with_the_step_it_left(house: House, ann: Client) -> None:
    thread = await chat(house, ann, "one", "steps 2")
    step = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"][-2]
    fork = (await ann.post("/api/replay/fork", json={"thread_id": thread, "snapshot_id": step["id"]})).json()
    async with await house.browser("ann") as browser:
        shown = (await browser.get("/sidebar", headers={"HX-Request": "true"})).text
        assert shown.index(thread) < shown.index("<ol>") < shown.index(fork["thread_id"])
        assert "from turn 2, step 2" in shown
        await ann.delete(f"/api/threads/{thread}")
        alone = (await browser.get("/sidebar", headers={"HX-Request": "true"})).text
        assert "<ol>" not in alone
        assert fork["thread_id"] in alone
        page = (await browser.get(f"/chats/{fork['thread_id']}")).text
        assert "from a chat that is gone, or not yours" in page


async def test_sessions_are_listed_and_ended(house: House) -> None:
    async with await house.browser("ann") as here, await house.browser("ann") as there:
        page = (await here.get("/you")).text
        assert page.count("Sign out</button></form></li>") == 2
        answer = await here.post("/you/sessions/end", data={"session": "others"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/you")
        assert (await there.get("/")).headers["location"] == "/login"
        assert (await here.get("/")).status_code == 200


async def test_session_of_somebody_else_is_not_ended(house: House) -> None:
    async with await house.browser("ann") as ann, await house.browser("bob") as bob:
        (theirs,) = await house.service.people.sessions(house.bob)
        assert (await ann.post("/you/sessions/end", data={"session": theirs.digest})).status_code == 422
        assert (await bob.get("/")).status_code == 200


async def test_theme_is_one_of_ours(house: House) -> None:
    async with await house.browser("ann") as browser:
        await browser.post("/you/theme", data={"theme": "dark"})
        assert 'data-theme="dark"' in (await browser.get("/")).text
        browser.cookies.set("turnback_theme", '"><script>')
        assert "<script>" not in (await browser.get("/")).text


async def test_link_names_the_browser_that_it_signed_in(house: House, nobody: Client) -> None:
    link = await house.service.people.create_link(house.ann)
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Safari/537.36"
    await nobody.post("/login", data={"link": link}, headers={"User-Agent": agent})
    assert [s.label for s in await house.service.people.sessions(house.ann)] == ["Chrome on Linux"]


async def test_alert_is_a_banner_for_admins_only(house: House) -> None:
    house.service.alerts.sound("disk", "The disk is <full>.")
    async with await house.browser("root") as root, await house.browser("ann") as ann:
        assert "The disk is &lt;full&gt;." in (await root.get("/")).text
        assert "The disk is" not in (await ann.get("/")).text


async def test_files_are_kept_for_ever_under_their_version_only(nobody: Client) -> None:
    versioned, plain = await nobody.get(asset_url("app.js")), await nobody.get("/static/app.js")
    assert versioned.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert plain.headers["cache-control"] == "no-cache"
    assert versioned.text == plain.text
    older = await nobody.get("/static/0123456789ab/app.js")
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")
    for path in ("/static/0123456789ab/../app.py", "/static/0123456789ab/..%2f..%2fapp.py"):
        assert (await nobody.get(path)).status_code == 404


async def test_scripts_are_small(nobody: Client) -> None:
    sizes = [len((await nobody.get(asset_url(file.name))).content) for file in STATIC.glob("*.js")]
    assert sum(sizes) < 80_000
    assert sum(file.stat().st_size for file in STATIC.glob("*.js")) < 80_000


def test_scripts_have_no_text_that_spans_lines() -> None:
    for file in STATIC.glob("*.js"):
        if not file.name.endswith(".min.js"):
            assert all(line.count("`") % 2 == 0 for line in file.read_text().splitlines()), file.name


def test_comments_and_indentation_are_not_served() -> None:
    script = "// Why.\n\n/** What\n * it does. */\nfunction f() {\n  return `/** no */ // no`; // stays\n}\n"
    assert squeezed(script) == "function f() {\nreturn `/** no */ // no`; // stays\n}"


def test_vendored_file_is_the_one_that_is_written_down() -> None:
    noted = dict(re.findall(r"\| `(\S+)` \|.*`([0-9a-f]{64})`", (STATIC / "VENDORED.md").read_text()))
    assert noted == {"htmx.min.js": hashlib.sha256((STATIC / "htmx.min.js").read_bytes()).hexdigest()}
    assert Path(STATIC / "htmx.LICENSE.txt").read_text().startswith("Zero-Clause BSD")
