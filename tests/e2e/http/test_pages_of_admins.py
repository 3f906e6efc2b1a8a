"""Settings, clean-up, accounts, tokens and audit as pages: what they show, save, ask and refuse."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest
from structlog.testing import capture_logs
from support.office import PLATFORMS, Office
from support.web import BASE, Patient, echo
from support.world import Clock

from turnback.core import open_service
from turnback.core.models import Account, Action, Actor, AuditEntry, Identity, Outcome, Surface, ThreadId
from turnback.core.service import Turnback
from turnback.web.app import create_app
from turnback.web.guard import Site
from turnback.web.pages.audit import EXPORTED_AT_ONCE, PAGE

Client = httpx2.AsyncClient

RETENTION = "time_travel.retention_days"

PAGES = (
    "/settings",
    "/settings/retention",
    "/settings/cleanup",
    "/settings/accounts",
    "/settings/tokens",
    "/audit",
    "/audit.csv",
    "/audit.jsonl",
)

POSTS = (
    "/settings",
    "/settings/reset",
    "/settings/cleanup",
    "/settings/accounts/admin",
    "/settings/tokens",
    "/settings/tokens/revoke",
)


@dataclass
class House:
    service: Turnback
    office: Office
    clock: Clock
    client: Client
    root: Account

    @property
    def actor(self) -> Actor:
        return Actor(account=self.root.id, surface=Surface.WEB, admin=True, name="root")

    async def old_steps(self, days: float) -> None:
        """Two steps in each of two chats, saved so long ago."""
        for title in ("One", "Two"):
            thread = await self.service.rewind.create_thread(self.actor, title)
            await self.service.turns.ask(self.actor, thread.id, "steps 1")
        self.clock.advance(days=days)
        self.client.cookies.set("turnback_session", await self.service.people.create_session(self.root))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = Clock()
    office = Office(tmp_path, clock=clock)
    async with open_service(
        tmp_path / "data", agent=Patient(), clock=clock, maintain=False, policy=office.policy
    ) as service:
        app = create_app(
            service,
            settings=office.furnish(service),
            commands=echo,
            site=Site(host="127.0.0.1", port=8765),
            clock=clock,
            platforms=lambda: PLATFORMS,
        )
        root = await service.people.ensure_account("root", admin=True)
        async with Client(transport=httpx2.ASGITransport(app), base_url=BASE, timeout=30) as client:
            client.cookies.set("turnback_session", await service.people.create_session(root))
            client.headers.update({"Accept": "text/html", "Origin": BASE})
            yield House(service, office, clock, client, root)


@pytest.fixture
def client(house: House) -> Client:
    return house.client


async def form_of(client: Client) -> dict[str, str]:
    """The settings form as a browser would send it back."""
    page = (await client.get("/settings")).text
    was = json.loads(html.unescape(re.search(r'name="was" value="([^"]*)"', page)[1]))  # type: ignore[index]
    return {**was, "was": json.dumps(was)}


def option(page: str, key: str) -> str:
    """What a page shows of one setting."""
    found = re.search(
        rf'<div class="opt[^"]*" data-key="{re.escape(key)}">.*?(?=<div class="opt|</section>)', page, re.DOTALL
    )
    assert found is not None, key
    return found[0]


def value_of(house: House, key: str) -> object:
    assert house.office.live is not None
    return next(row["value"] for row in house.office.live.rows() if row["key"] == key)


# who gets in


@pytest.mark.parametrize("path", PAGES)
async def test_others_are_told_that_it_is_for_admins(house: House, client: Client, path: str) -> None:
    client.cookies.set(
        "turnback_session", await house.service.people.create_session(await house.service.people.ensure_account("bob"))
    )
    answer = await client.get(path)
    assert answer.status_code == 403
    assert "Only an admin may see this page." in answer.text
    assert 'href="/settings"' not in answer.text


@pytest.mark.parametrize("path", POSTS)
async def test_others_change_nothing(house: House, client: Client, path: str) -> None:
    client.cookies.set(
        "turnback_session", await house.service.people.create_session(await house.service.people.ensure_account("bob"))
    )
    answer = await client.post(path, data={"was": "{}", RETENTION: "7", "key": RETENTION, "account": "bob"})
    assert answer.status_code == 403
    assert value_of(house, RETENTION) == 90
    assert await house.service.maintenance.last_success() is None
    assert [s for s in await house.service.threads.secrets() if s.kind == "token"] == []


@pytest.mark.parametrize("path", POSTS)
async def test_form_of_another_page_is_turned_away(house: House, client: Client, path: str) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999"):
        answer = await client.post(
            path, data={"was": "{}", RETENTION: "7", "account": "bob"}, headers={"Origin": origin}
        )
        assert answer.status_code == 403
    assert value_of(house, RETENTION) == 90
    assert [s for s in await house.service.threads.secrets() if s.kind == "token"] == []


# settings


async def test_every_setting_is_shown(house: House, client: Client) -> None:
    page = (await client.get("/settings")).text
    assert house.office.live is not None
    keys = [row["key"] for row in house.office.live.rows()]
    assert sorted(re.findall(r'data-key="([^"]+)"', page)) == sorted(keys)


async def test_setting_says_its_value_and_what_runs(house: House, client: Client) -> None:
    page = (await client.get("/settings")).text
    retention = option(page, RETENTION)
    assert 'value="90"' in retention
    assert "running: <b><bdi>90 days</bdi></b>" in retention
    assert "applies at once" in retention
    assert "settings file" in retention
    assert 'value="32 MB"' in option(page, "time_travel.max_thread_bytes")
    assert "after a restart" in option(page, "web.port")


async def test_setting_of_the_environment_is_disabled_and_says_so(client: Client) -> None:
    shown = option((await client.get("/settings")).text, "time_travel.max_per_turn")
    assert "TURNBACK_TIME_TRAVEL__MAX_PER_TURN" in shown
    assert re.search(r"<input[^>]* disabled>", shown)
    assert 'name="time_travel.max_per_turn"' not in shown
    assert "running: <b><bdi>25</bdi></b>" in shown


async def test_secrets_are_never_shown(client: Client) -> None:
    page = (await client.get("/settings")).text
    assert "from-the-file" not in page
    assert "sk-environment" not in page
    token = option(page, "telegram.token")
    assert "Replace…" in token
    assert "running: <b><bdi>set</bdi></b>" in token


async def test_what_was_changed_is_saved_and_nothing_else(house: House, client: Client) -> None:
    form = await form_of(client)
    answer = await client.post("/settings", data={**form, "time_travel.max_thread_bytes": "48 mb", "web.port": "9000"})
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/settings?saved=time_travel.max_thread_bytes,web.port",
    )
    assert await house.service.threads.settings() == {"time_travel.max_thread_bytes": 48 * 1024**2, "web.port": 9000}
    page = (await client.get(answer.headers["location"])).text
    assert "1 setting waits for a restart" in page
    assert "needs a restart" in option(page, "web.port")
    assert "Saved: Most bytes per chat, Port." in page


async def test_saving_twice_does_not_undo_another_admins_change(house: House, client: Client) -> None:
    mine, theirs = await form_of(client), await form_of(client)
    await client.post("/settings", data={**theirs, "time_travel.max_snapshots": "80"})
    await client.post("/settings", data={**mine, "web.port": "9000"})
    assert value_of(house, "time_travel.max_snapshots") == 80
    assert value_of(house, "web.port") == 9000


async def test_switch_that_is_off_is_saved(house: House, client: Client) -> None:
    form = await form_of(client)
    assert form["time_travel.auto_maintain"] == "on"
    await client.post("/settings", data={**form, "time_travel.auto_maintain": "off"})
    assert value_of(house, "time_travel.auto_maintain") is False
    assert "daily clean-up is off" in (await client.get("/settings")).text


async def test_list_is_read_a_line_each(house: House, client: Client) -> None:
    form = await form_of(client)
    await client.post("/settings", data={**form, "access.allow": "telegram:*\r\n discord:guild:12\r\n\r\n"})
    assert value_of(house, "access.allow") == ["telegram:*", "discord:guild:12"]
    assert "telegram:*\ndiscord:guild:12</textarea>" in (await client.get("/settings")).text


async def test_bad_values_are_told_at_their_fields_and_nothing_is_saved(house: House, client: Client) -> None:
    form = await form_of(client)
    bad = {RETENTION: "0", "time_travel.max_thread_bytes": "lots", "access.allow": "everybody", "web.port": "9000"}
    answer = await client.post("/settings", data={**form, **bad})
    assert answer.status_code == 422
    assert await house.service.threads.settings() == {}
    assert "It must be a whole number from 1 to 3650." in option(answer.text, RETENTION)
    assert "It must be a size, such as 32 MB" in option(answer.text, "time_travel.max_thread_bytes")
    assert "It must be a list such as telegram:*" in option(answer.text, "access.allow")
    assert 'aria-invalid="true"' in option(answer.text, RETENTION)
    assert "problem" not in option(answer.text, "web.port")
    assert 'value="9000"' in option(answer.text, "web.port")  # what was typed is not lost
    assert 'href="#access-allow"' in answer.text


async def test_setting_that_needs_another_says_so_at_its_field(client: Client) -> None:
    answer = await client.post("/settings", data={**await form_of(client), "agent.kind": "pydantic-ai"})
    assert answer.status_code == 422
    assert "needs agent.model" in option(answer.text, "agent.kind")


async def test_prompt_of_the_file_can_be_emptied_here(house: House, client: Client) -> None:
    answer = await client.post("/settings", data={**await form_of(client), "agent.system_prompt": ""})
    assert answer.status_code == 303
    assert value_of(house, "agent.system_prompt") == ""


async def test_emptied_number_is_no_number(house: House, client: Client) -> None:
    answer = await client.post("/settings", data={**await form_of(client), RETENTION: " "})
    assert answer.status_code == 422
    assert "It must be a whole number" in option(answer.text, RETENTION)
    assert value_of(house, RETENTION) == 90


async def test_emptied_text_takes_back_what_was_set_here(house: House, client: Client) -> None:
    await client.post("/settings", data={**await form_of(client), "agent.model": "gpt"})
    assert value_of(house, "agent.model") == "gpt"
    await client.post("/settings", data={**await form_of(client), "agent.model": ""})
    assert await house.service.threads.settings() == {}


async def test_locked_setting_cannot_be_forged(house: House, client: Client) -> None:
    form = await form_of(client)
    for key in ("time_travel.max_per_turn", "storage.path", "agent.shell", "agent.api_key"):
        assert (await client.post("/settings", data={**form, key: "1"})).status_code == 422
    assert await house.service.threads.settings() == {}


async def test_secret_is_replaced_and_never_comes_back(house: House, client: Client) -> None:
    answer = await client.post("/settings", data={**await form_of(client), "telegram.token": "2:new-secret"})
    assert answer.status_code == 303
    assert "new-secret" not in answer.headers["location"]
    assert house.office.live is not None
    token = house.office.live.settings.telegram.token
    assert token is not None
    assert token.get_secret_value() == "2:new-secret"
    page = (await client.get("/settings")).text
    assert "new-secret" not in page
    assert "was replaced" in page


async def test_bad_secret_is_not_shown_again(client: Client) -> None:
    answer = await client.post(
        "/settings", data={**await form_of(client), "telegram.token": "2:new-secret", RETENTION: "0"}
    )
    assert answer.status_code == 422
    assert "new-secret" not in answer.text


async def test_secrets_that_were_set_are_told_nowhere(house: House, client: Client, tmp_path: Path) -> None:
    assert house.office.live is not None
    keys = [field.key for field in house.office.live.fields() if field.kind == "secret" and not field.locked]
    assert len(keys) == 6
    with capture_logs() as logged:
        answers = [await client.patch("/api/settings", json={key: f"hush-{key}" for key in keys})]
        assert answers[0].status_code == 200
        for value in (["hush"], {"hush": 1}, "(hidden)"):
            answers.append(await client.patch("/api/settings", json={keys[0]: value, RETENTION: "hush" * 9}))
            assert answers[-1].status_code == 422
        for path in (*PAGES, "/api/settings", "/api/audit", "/metrics", "/you"):
            answers.append(await client.get(path))
            assert answers[-1].status_code == 200
    assert [answer.request.url for answer in answers if "hush-" in answer.text or '["hush' in answer.text] == []
    assert "hush" not in str(logged)
    await house.service.threads.backup(str(tmp_path / "copy.db"))
    kept = [tmp_path / "copy.db", *(tmp_path / "data").glob("turnback.db*")]
    assert {path.name: path.stat().st_mode & 0o077 for path in kept} == dict.fromkeys((p.name for p in kept), 0)


async def test_what_was_set_here_is_taken_back(house: House, client: Client) -> None:
    await client.post("/settings", data={**await form_of(client), RETENTION: "100"})
    assert value_of(house, RETENTION) == 100
    assert "set here" in option((await client.get("/settings")).text, RETENTION)
    await client.post("/settings/reset", data={"key": RETENTION})
    assert value_of(house, RETENTION) == 90


async def test_unknown_setting_is_refused_in_words(client: Client) -> None:
    answer = await client.post("/settings/reset", data={"key": "time_travel.retention"})
    assert answer.status_code == 422
    assert "did you mean" in answer.text


@pytest.mark.parametrize("was", ["", "[]", "{", "7", "null"])
async def test_form_that_is_not_whole_is_refused(house: House, client: Client, was: str) -> None:
    answer = await client.post("/settings", data={"was": was, RETENTION: "7"})
    assert answer.status_code == 422
    assert value_of(house, RETENTION) == 90


async def test_changes_are_audited_done_and_refused(house: House, client: Client) -> None:
    form = await form_of(client)
    await client.post("/settings", data={**form, RETENTION: "0"})
    await client.post("/settings", data={**form, RETENTION: "100"})
    trail = await house.service.threads.audit_trail()
    assert [(e.action, e.outcome, e.actor) for e in trail] == [
        (Action.SETTINGS, Outcome.DONE, "root"),
        (Action.SETTINGS, Outcome.REFUSED, "root"),
    ]


async def test_change_by_somebody_who_is_no_admin_is_refused_and_audited(house: House, client: Client) -> None:
    ann = await house.service.people.ensure_account("ann")
    client.cookies.set("turnback_session", await house.service.people.create_session(ann))
    answer = await client.patch("/api/settings", json={RETENTION: 1})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert value_of(house, RETENTION) == 90
    (entry,) = await house.service.threads.audit_trail()
    assert (entry.action, entry.outcome, entry.code, entry.account) == (
        Action.SETTINGS,
        Outcome.REFUSED,
        "forbidden",
        ann.id,
    )


async def test_platforms_show_how_they_are(client: Client) -> None:
    page = (await client.get("/settings")).text
    assert "connected" in page
    assert "Discord does not work: &lt;b&gt;no&lt;/b&gt; such token." in page
    assert "off: no token" in page


async def test_values_with_markup_are_text(house: House, client: Client) -> None:
    evil = '"><script>alert(1)</script></textarea>'
    answer = await client.post(
        "/settings", data={**await form_of(client), "agent.system_prompt": evil, "agent.model": evil}
    )
    assert answer.status_code == 303
    page = (await client.get("/settings")).text
    assert "<script>alert" not in page
    assert value_of(house, "agent.model") == evil


# retention and clean-up


async def test_lower_retention_asks_with_what_would_go(house: House, client: Client) -> None:
    await house.old_steps(days=40)
    asked = await client.post("/settings", data={**await form_of(client), RETENTION: "30", "web.port": "9000"})
    assert asked.status_code == 200
    assert "4 steps of 2 chats are older." in asked.text
    assert await house.service.threads.settings() == {}
    assert 'value="9000"' in option(asked.text, "web.port")  # what else was typed is asked about together
    saved = await client.post(
        "/settings",
        data={**await form_of(client), RETENTION: "30", "web.port": "9000", "confirm_retention": "30"},
    )
    assert saved.status_code == 303
    assert await house.service.threads.settings() == {RETENTION: 30, "web.port": 9000}
    assert "4 steps of 2 chats are older than 30 days." in (await client.get("/settings")).text


async def test_answer_for_another_retention_does_not_count(house: House, client: Client) -> None:
    await house.old_steps(days=40)
    answer = await client.post("/settings", data={**await form_of(client), RETENTION: "7", "confirm_retention": "30"})
    assert "Keep steps for 7 days?" in answer.text
    assert await house.service.threads.settings() == {}


async def test_lower_retention_that_deletes_nothing_is_saved_at_once(house: House, client: Client) -> None:
    await house.old_steps(days=1)
    assert (await client.post("/settings", data={**await form_of(client), RETENTION: "30"})).status_code == 303
    assert value_of(house, RETENTION) == 30


@pytest.mark.parametrize(("typed", "shown"), [("30", "4 steps of 2 chats would go."), ("60", ""), ("x", ""), ("", "")])
async def test_preview_of_a_retention_while_it_is_typed(house: House, client: Client, typed: str, shown: str) -> None:
    await house.old_steps(days=40)
    answer = await client.get("/settings/retention", params={RETENTION: typed}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert re.sub(r"<[^>]+>", "", answer.text).strip() == shown


async def test_clean_up_shows_before_what_goes_and_after_what_went(house: House, client: Client) -> None:
    await house.old_steps(days=100)
    before = (await client.get("/settings/cleanup")).text
    assert "Delete 4 steps of 2 chats?" in before
    assert (await house.service.steps.totals()).steps == 4
    assert (await client.post("/settings/cleanup")).status_code == 303
    assert (await house.service.steps.totals()).steps == 0
    after = (await client.get("/settings/cleanup")).text
    assert "4 steps deleted in 2 chats" in after
    assert "counted again, nothing left behind" in after
    assert "Nothing to delete" in after


async def test_storage_is_shown_against_its_budgets(house: House, client: Client) -> None:
    await house.old_steps(days=1)
    page = (await client.get("/settings")).text
    assert re.search(r'role="meter" aria-label="Number of steps"[^>]*aria-valuetext="4 of 2,000"', page)
    assert re.search(r'role="meter" aria-label="Fullest chat"', page)
    assert "of 512 MB" in page
    assert re.search(r"steps\.db takes \d+ KB, its log [1-9]\d* KB\.", page)


async def test_settings_work_while_the_steps_do_not(house: House, client: Client, tmp_path: Path) -> None:
    await house.service.steps.close()
    (tmp_path / "data" / "steps.db").write_bytes(b"not a database, but long enough to be one" * 99)
    page = await client.get("/settings")
    assert page.status_code == 200
    assert "The saved steps cannot be read now." in page.text
    assert (await client.get("/settings/cleanup")).status_code == 200
    assert (await client.post("/settings/cleanup")).status_code == 503
    asked = await client.post("/settings", data={**await form_of(client), RETENTION: "30"})
    assert "cannot be counted now" in asked.text


# accounts and tokens


async def test_accounts_show_who_is_who(house: House, client: Client) -> None:
    ann = await house.service.people.ensure_account("Ann <i>")
    await house.service.threads.add_identity(
        Identity(surface=Surface.TELEGRAM, user_key="4108", account=ann.id, name="<script>x</script>")
    )
    page = (await client.get("/settings/accounts")).text
    assert "telegram:<bdi>4108</bdi>" in page
    assert "<script>x" not in page
    assert "Ann <i>" not in page
    assert "Ann &lt;i&gt;" in page
    found = (await client.get("/settings/accounts", params={"q": "TELEGRAM:41"})).text
    assert "Ann &lt;i&gt;" in found
    assert "<bdi>root</bdi>" not in found
    assert "No account has" in (await client.get("/settings/accounts", params={"q": '"><b>'})).text


async def test_admin_is_made_and_unmade(house: House, client: Client) -> None:
    ann = await house.service.people.ensure_account("Ann")
    for word, told in (("yes", "is an admin now"), ("no", "is no admin any more")):
        answer = await client.post("/settings/accounts/admin", data={"account": ann.id, "admin": word})
        assert answer.headers["location"] == f"/settings/accounts?done={ann.id}"
        assert told in (await client.get(answer.headers["location"])).text
        assert (await house.service.people.ensure_account("Ann")).admin is (word == "yes")
    answer = await client.post("/settings/accounts/admin", data={"account": house.root.id, "admin": "no"})
    assert answer.status_code == 422
    assert "You cannot take this from yourself." in answer.text


async def test_token_is_shown_once(house: House, client: Client) -> None:
    made = await client.post("/settings/tokens", data={"account": "root", "label": "nightly"})
    assert made.status_code == 200
    assert made.headers["cache-control"] == "no-store"
    token = re.search(r'id="token"[^>]*>([^<]+)<', made.text)[1]  # type: ignore[index]
    assert token not in (await client.get("/settings/tokens")).text
    client.cookies.clear()
    headers = {"Authorization": f"Bearer {token}"}
    assert (await client.get("/api/settings", headers=headers)).status_code == 200


async def test_token_is_revoked(house: House, client: Client) -> None:
    token = await house.service.directory.issue_token(house.actor, "root", "nightly")
    handle = re.search(r'name="token" value="([0-9a-f]{16})"', (await client.get("/settings/tokens")).text)[1]  # type: ignore[index]
    assert (await client.post("/settings/tokens/revoke", data={"token": handle})).status_code == 303
    assert await house.service.people.authenticate(token, "token") is None
    again = await client.post("/settings/tokens/revoke", data={"token": handle})
    assert again.status_code == 404
    assert "gone already" in again.text


async def test_bad_token_request_is_told_in_place(client: Client) -> None:
    answer = await client.post("/settings/tokens", data={"account": "x" * 99, "label": "keep this"})
    assert answer.status_code == 422
    assert "at most 80 characters" in answer.text
    assert 'value="keep this"' in answer.text


# audit


def line(n: int, **changed: object) -> AuditEntry:
    entry = AuditEntry(
        at=Clock().now, account=None, actor=f"actor {n}", surface=Surface.TELEGRAM, action=Action.RESTORE
    )
    return replace(entry, **changed)  # type: ignore[arg-type]


async def test_audit_is_newest_first_with_names(house: House, client: Client) -> None:
    thread = await house.service.rewind.create_thread(house.actor, "Trip <b>")
    await house.service.threads.audit(line(1, thread_id=thread.id, account=house.root.id, snapshot_id="a" * 32))
    await house.service.threads.audit(line(2, thread_id=ThreadId("f" * 32), outcome=Outcome.REFUSED, code="forbidden"))
    page = (await client.get("/audit")).text
    assert page.index("actor 2") < page.index("actor 1")
    assert "<bdi>root</bdi>" in page
    assert f'<a href="/replay?thread={thread.id}"><bdi>Trip &lt;b&gt;</bdi></a>' in page
    assert "a deleted chat" in page
    assert "forbidden" in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"outcome": "failed"}, "actor 1"),
        ({"action": "fork"}, "actor 2"),
        ({"surface": "slack"}, "actor 3"),
        ({"actor": "OR 4"}, "actor 4"),
        ({"chat": "aaaa"}, "actor 5"),
        ({"since": "2026-03-09", "until": "2026-03-09"}, "actor 6"),
        ({"since": "2026-03-09", "until": "9999-12-31"}, "actor 6"),
    ],
)
async def test_audit_is_filtered(house: House, client: Client, query: dict[str, str], shown: str) -> None:
    at = Clock().now.replace(day=9, hour=23)
    for entry in (
        line(1, outcome=Outcome.FAILED),
        line(2, action=Action.FORK),
        line(3, surface=Surface.SLACK),
        line(4),
        line(5, thread_id=ThreadId("a" * 32)),
        line(6, at=at),
        line(7),
    ):
        await house.service.threads.audit(entry)
    page = (await client.get("/audit", params=query)).text
    assert re.findall(r"actor \d", re.search(r"<tbody>.*</tbody>", page, re.DOTALL)[0]) == [shown]  # type: ignore[index]
    assert "1 of 1 line" in page
    assert len((await client.get("/audit.jsonl", params=query)).text.splitlines()) == 1
    told = (await client.get("/api/audit", params=query)).json()["entries"]
    assert [entry["actor"] for entry in told] == [shown]


async def test_audit_has_pages(house: House, client: Client) -> None:
    for n in range(2 * PAGE + 1):
        await house.service.threads.audit(line(n))
    seen: list[str] = []
    path = "/audit?surface=telegram"
    for _ in range(3):
        page = (await client.get(path)).text
        seen += re.findall(r"<bdi>(actor \d+)</bdi>", page)
        older = re.search(r'href="(/audit\?[^"]*before=\d+)"', page)
        path = html.unescape(older[1]) if older else ""
    assert path == ""
    assert seen == [f"actor {n}" for n in range(2 * PAGE, -1, -1)]


async def test_audit_exports_all_of_it(house: House, client: Client) -> None:
    many = EXPORTED_AT_ONCE + 3
    for n in range(many):
        await house.service.threads.audit(line(n))
    answer = await client.get("/audit.jsonl")
    rows = [json.loads(row) for row in answer.text.splitlines()]
    assert [row["actor"] for row in rows] == [f"actor {n}" for n in range(many - 1, -1, -1)]
    assert answer.headers["content-disposition"].startswith('attachment; filename="turnback-audit-')
    table = list(csv.DictReader(io.StringIO((await client.get("/audit.csv")).text)))
    assert [{key: value or "" for key, value in row.items()} for row in rows] == table


async def test_audit_export_cannot_run_formulas(house: House, client: Client) -> None:
    for actor in ('=HYPERLINK("http://evil","x")', "+1", "-1", "@SUM(A1)", " =1", "＝1", 'a "quoted", name'):
        await house.service.threads.audit(line(0, actor=actor))
    rows = list(csv.DictReader(io.StringIO((await client.get("/audit.csv")).text)))
    assert [row["actor"] for row in reversed(rows)] == [
        '\'=HYPERLINK("http://evil","x")',
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "' =1",
        "'＝1",
        'a "quoted", name',
    ]


@pytest.mark.parametrize(
    "query",
    [
        {"outcome": "x"},
        {"action": "drop table"},
        {"surface": "cli"},
        {"since": "soon"},
        {"until": "0"},
        {"actor": "x" * 201},
        {"before": "-1"},
        {"before": "9" * 40},
    ],
)
async def test_tampered_filter_is_refused_in_words(client: Client, query: dict[str, str]) -> None:
    for path in ("/audit", "/audit.csv"):
        answer = await client.get(path, params=query)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
    if "before" not in query:
        told = await client.get("/api/audit", params=query)
        assert (told.status_code, told.json()["code"]) == (422, "invalid_request")
        assert told.json()["detail"].startswith(f"{next(iter(query))}: ")


async def test_filters_with_markup_are_text(house: House, client: Client) -> None:
    evil = '"><script>alert(1)</script>'
    await house.service.threads.audit(line(0, actor=evil, code=evil))
    page = (await client.get("/audit", params={"actor": "script", "chat": ""})).text
    assert "<script>alert" not in page
    assert "<script>alert" not in (await client.get("/audit", params={"actor": evil, "chat": evil})).text


async def test_empty_audit_says_what_will_be_here(client: Client) -> None:
    assert "Nothing is recorded yet." in (await client.get("/audit")).text
    assert "No line fits these filters." in (await client.get("/audit", params={"action": "fork"})).text
