"""Who gets in: every route of the app without a token, with a foreign one, for foreign threads and steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from support.web import House

from turnback.core.service import Turnback
from turnback.web.app import ROUTERS, create_app
from turnback.web.auth import is_open
from turnback.web.guard import MAX_BODY_BYTES

Client = httpx2.AsyncClient

UNKNOWN = "0" * 32

OPEN = {"/healthz", "/readyz", "/login", "/favicon.ico"}
"""Every path outside of /static that answers without a sign-in. Add to it only on purpose."""

ADMINS = {
    ("GET", "/api/settings"),
    ("PATCH", "/api/settings"),
    ("GET", "/api/audit"),
    ("GET", "/metrics"),
    ("POST", "/api/cleanup"),
}

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/api/replay/preview"): {"thread_id": "{thread}", "snapshot_id": "{step}"},
    ("POST", "/api/replay/restore"): {"thread_id": "{thread}", "snapshot_id": "{step}"},
    ("POST", "/api/replay/fork"): {"thread_id": "{thread}", "snapshot_id": "{step}"},
    ("POST", "/api/replay/compare"): {"thread_id": "{thread}", "a": "{step}"},
    ("POST", "/api/replay/undo"): {"thread_id": "{thread}"},
    ("POST", "/api/replay/redo"): {"thread_id": "{thread}"},
    ("PATCH", "/api/replay/snapshots/{thread_id}/{step}"): {"label": "mine"},
    ("POST", "/api/replay/snapshots/{thread_id}"): {"turn_index": 9, "iteration": 0, "state": {}},
    ("POST", "/api/threads"): {},
    ("PATCH", "/api/threads/{thread_id}"): {"title": "Taken"},
    ("POST", "/api/threads/{thread_id}/messages"): {"text": "hi"},
    ("POST", "/api/threads/{thread_id}/commands"): {"text": "/replay list"},
    ("POST", "/api/threads/{thread_id}/approvals/{gate}"): {"approve": True},
    ("PATCH", "/api/settings"): {"time_travel.retention_days": 7},
    ("POST", "/api/cleanup"): {"dry_run": True},
}
"""A body for every operation that takes one."""

OF_NO_THREAD = {
    ("GET", "/api/replay/threads"),
    ("GET", "/api/threads"),
    ("POST", "/api/threads"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    *ADMINS,
}


@dataclass(frozen=True)
class Operation:
    method: str
    path: str

    @property
    def key(self) -> tuple[str, str]:
        return self.method, self.path

    async def call(self, client: Client, thread: str = UNKNOWN, step: str = UNKNOWN) -> httpx2.Response:
        values = {"thread_id": thread, "step": step, "gate": UNKNOWN, "fact": UNKNOWN}
        path = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.path)
        params = {"thread_id": thread} if self.path == "/api/events" else {}
        body = BODIES.get(self.key)
        if body is None:
            return await client.request(self.method, path, params=params)
        filled = {
            key: value.replace("{thread}", thread).replace("{step}", step) if isinstance(value, str) else value
            for key, value in body.items()
        }
        return await client.request(self.method, path, params=params, json=filled)


def operations() -> list[Operation]:
    """Every operation, from the OpenAPI of an app without a service."""

    class Empty:
        people = events = None

    app = create_app(Empty(), settings=None, commands=None)  # type: ignore[arg-type]
    paths = app.openapi()["paths"]
    return [Operation(method.upper(), path) for path, methods in paths.items() for method in methods]


ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
ALL = operations()
GUARDED = [o for o in ALL if o.path not in OPEN]
OF_A_THREAD = [o for o in GUARDED if o.key not in OF_NO_THREAD]


def named(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


def test_every_operation_of_the_contract_is_there() -> None:
    assert {o.key for o in ALL} == {
        ("GET", "/api/replay/threads"),
        ("GET", "/api/replay/snapshots/{thread_id}"),
        ("POST", "/api/replay/snapshots/{thread_id}"),
        ("GET", "/api/replay/snapshots/{thread_id}/{step}"),
        ("PATCH", "/api/replay/snapshots/{thread_id}/{step}"),
        ("POST", "/api/replay/preview"),
        ("POST", "/api/replay/restore"),
        ("POST", "/api/replay/fork"),
        ("POST", "/api/replay/compare"),
        ("POST", "/api/replay/undo"),
        ("POST", "/api/replay/redo"),
        ("DELETE", "/api/replay/threads/{thread_id}"),
        ("GET", "/api/threads"),
        ("POST", "/api/threads"),
        ("GET", "/api/threads/{thread_id}"),
        ("PATCH", "/api/threads/{thread_id}"),
        ("DELETE", "/api/threads/{thread_id}"),
        ("GET", "/api/threads/{thread_id}/messages"),
        ("POST", "/api/threads/{thread_id}/messages"),
        ("POST", "/api/threads/{thread_id}/commands"),
        ("POST", "/api/threads/{thread_id}/stop"),
        ("POST", "/api/threads/{thread_id}/reset"),
        ("POST", "/api/threads/{thread_id}/approvals/{gate}"),
        ("GET", "/api/threads/{thread_id}/memory"),
        ("DELETE", "/api/threads/{thread_id}/memory/{fact}"),
        ("GET", "/api/events"),
        ("GET", "/api/settings"),
        ("PATCH", "/api/settings"),
        ("GET", "/api/audit"),
        ("POST", "/api/cleanup"),
        ("GET", "/metrics"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }


def test_every_operation_that_needs_a_body_has_one_here() -> None:
    paths = create_openapi()["paths"]
    needy = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "requestBody" in operation
    }
    assert needy == set(BODIES)


def create_openapi() -> dict[str, Any]:
    class Empty:
        people = events = None

    return create_app(Empty(), settings=None, commands=None).openapi()  # type: ignore[arg-type]


def test_no_route_is_open_but_by_name() -> None:
    assert {path for path in (route.path for route in ROUTES) if is_open(path)} == OPEN


@pytest.mark.parametrize(
    "route", [r for r in ROUTES if r.path not in OPEN], ids=lambda r: f"{sorted(r.methods or ())} {r.path}"
)
async def test_every_route_turns_nobodies_away(nobody: Client, route: APIRoute) -> None:
    path = re.sub(r"\{\w+\}", UNKNOWN, route.path)
    for method in route.methods or ():
        answer = await nobody.request(method, path)
        if answer.status_code != 401:
            assert (method, answer.status_code, answer.headers["location"]) == ("GET", 303, "/login")


@pytest.mark.parametrize("operation", GUARDED, ids=named)
async def test_without_a_token_is_unauthorized(nobody: Client, operation: Operation) -> None:
    answer = await operation.call(nobody)
    assert_problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "authorization", ["Bearer nonsense", "Bearer", "bearer ", "Basic YTpi", "Bearer \x7f", "Bearer " + "x" * 9000, ""]
)
async def test_bad_token_is_unauthorized_even_with_a_session(house: House, authorization: str) -> None:
    async with await house.browser("ann") as client:
        assert (await client.get("/api/threads")).status_code == 200
        answer = await client.get("/api/threads", headers={"Authorization": authorization})
        assert_problem(answer, 401, "unauthorized")


async def test_openapi_needs_a_sign_in(nobody: Client, ann: Client) -> None:
    assert_problem(await nobody.get("/api/openapi.json"), 401, "unauthorized")
    assert (await ann.get("/api/openapi.json")).json()["info"]["title"] == "Turnback"


async def test_expired_session_is_unauthorized(house: House) -> None:
    async with await house.browser("ann") as client:
        house.clock.advance(days=31)
        assert_problem(await client.get("/api/threads"), 401, "unauthorized")


@pytest.mark.parametrize("cookie", ["turnback_session=x", "turnback_session=", "=;;\x7f", 'turnback_session="a b"'])
async def test_odd_cookie_is_unauthorized(nobody: Client, cookie: str) -> None:
    assert_problem(await nobody.get("/api/threads", headers={"Cookie": cookie}), 401, "unauthorized")


@pytest.mark.parametrize("operation", OF_A_THREAD, ids=named)
async def test_foreign_thread_answers_like_an_unknown_one(
    house: House, ann: Client, bob: Client, thread: str, operation: Operation
) -> None:
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
    (step,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    before = await everything_of(house, thread)
    foreign = await operation.call(bob, thread, step["id"])
    unknown = await operation.call(bob, UNKNOWN, step["id"])
    assert_problem(foreign, 404, "not_found")
    assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)
    assert "ann" not in foreign.text.lower()
    assert await everything_of(house, thread) == before


@pytest.mark.parametrize("operation", [o for o in OF_A_THREAD if "step" in str(BODIES.get(o.key)) + o.path], ids=named)
async def test_foreign_step_in_my_thread_is_not_found(
    ann: Client, bob: Client, thread: str, operation: Operation
) -> None:
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
    (step,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    mine = (await bob.post("/api/threads")).json()["thread_id"]
    foreign = await operation.call(bob, mine, step["id"])
    unknown = await operation.call(bob, mine, UNKNOWN)
    assert_problem(foreign, 404, "not_found")
    assert foreign.content == unknown.content


async def test_compare_across_threads_needs_both(ann: Client, bob: Client, thread: str) -> None:
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
    (hers,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    mine = (await bob.post("/api/threads")).json()["thread_id"]
    await bob.post(f"/api/threads/{mine}/messages?wait=true", json={"text": "two"})
    (his,) = (await bob.get(f"/api/replay/snapshots/{mine}")).json()["snapshots"]
    bodies: list[dict[str, str]] = [
        {"thread_id": mine, "a": his["id"], "b": hers["id"], "b_thread_id": thread},
        {"thread_id": mine, "a": his["id"], "b_thread_id": thread},
        {"thread_id": thread, "a": hers["id"], "b": his["id"], "b_thread_id": mine},
        {"thread_id": mine, "a": his["id"], "b": hers["id"]},
    ]
    for body in bodies:
        assert_problem(await bob.post("/api/replay/compare", json=body), 404, "not_found")


@pytest.mark.parametrize("operation", [o for o in ALL if o.key in ADMINS], ids=named)
async def test_admins_only(ann: Client, root: Client, house: House, operation: Operation) -> None:
    assert_problem(await operation.call(ann), 403, "forbidden")
    assert house.settings.days == 30
    assert (await operation.call(root)).status_code == 200


@pytest.mark.parametrize("operation", [o for o in OF_A_THREAD if "{thread_id}" in o.path], ids=named)
async def test_odd_thread_id_is_not_found(ann: Client, operation: Operation) -> None:
    for thread_id in ("..%2f..", "%2e%2e", "1", "@x", "a" * 5000, "%00", "%F0%9F%98%80", "%ff", "null"):
        answer = await operation.call(ann, thread_id)
        assert answer.status_code in (404, 405), (thread_id, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("operation", [o for o in OF_A_THREAD if "thread_id" in BODIES.get(o.key, {})], ids=named)
async def test_thread_id_of_another_type_is_invalid(ann: Client, operation: Operation) -> None:
    values: list[Any] = [1234567890123456789, ["a"], None, True, {}, 1.5]
    for value in values:
        answer = await ann.request(operation.method, operation.path, json={**BODIES[operation.key], "thread_id": value})
        assert_problem(answer, 422, "invalid_request")
        assert "thread_id" in answer.json()["detail"]


@pytest.mark.parametrize("thread_id", ["", "../", "..", "%", "\0", "x" * 10000, "\u2028"])
async def test_odd_thread_id_in_a_body_is_not_found(ann: Client, thread_id: str) -> None:
    answer = await ann.post("/api/replay/restore", json={"thread_id": thread_id, "snapshot_id": "abcd"})
    assert_problem(answer, 404, "not_found")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nul", b"\xff\xfe", b"[1]", b'"text"', b"1", b"[" * 100_000, b'{"thread_id": ' + b"9" * 5000 + b"}"],
)
async def test_body_that_cannot_be_read_is_invalid(ann: Client, body: bytes) -> None:
    answer = await ann.post("/api/replay/undo", content=body, headers={"Content-Type": "application/json"})
    assert_problem(answer, 422, "invalid_request")


async def test_body_of_another_type_is_invalid(ann: Client) -> None:
    answer = await ann.post("/api/replay/undo", data={"thread_id": UNKNOWN})
    assert_problem(answer, 422, "invalid_request")
    assert "application/json" in answer.json()["detail"]


async def test_unknown_field_is_named(ann: Client, thread: str) -> None:
    answer = await ann.post("/api/replay/undo", json={"thread_id": thread, "count": 2})
    assert_problem(answer, 422, "invalid_request")
    assert "count" in answer.json()["detail"]


@pytest.mark.parametrize("n", [0, -1, 1.5, "1", True, 10**30])
async def test_odd_count_is_invalid(ann: Client, thread: str, n: Any) -> None:
    assert_problem(await ann.post("/api/replay/undo", json={"thread_id": thread, "n": n}), 422, "invalid_request")


async def test_body_over_the_limit_is_refused(ann: Client) -> None:
    big = b'{"text": "' + b"x" * MAX_BODY_BYTES + b'"}'

    async def chunks() -> Any:
        for at in range(0, len(big), 1 << 20):
            yield big[at : at + (1 << 20)]

    for content in (big, chunks()):
        answer = await ann.post("/api/replay/undo", content=content, headers={"Content-Type": "application/json"})
        assert_problem(answer, 413, "invalid_request")


async def test_unknown_route_and_method_are_problems(ann: Client) -> None:
    assert_problem(await ann.get("/api/nothing"), 404, "not_found")
    assert_problem(await ann.get("/api/threads/"), 404, "not_found")
    assert_problem(await ann.get("/hooks/telegram"), 404, "not_found")
    answer = await ann.put("/api/threads")
    assert_problem(answer, 405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


async def test_bug_is_a_problem_without_details(ann: Client, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_args: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(house.service.rewind, "threads", fail)
    answer = await ann.get("/api/threads")
    assert_problem(answer, 500, "internal_error")
    assert "secret" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1:1", "", "127.0.0.1"])
async def test_foreign_host_is_forbidden(ann: Client, nobody: Client, host: str) -> None:
    for client, path in ((ann, "/api/threads"), (nobody, "/login"), (nobody, "/healthz"), (nobody, "/static/x")):
        assert_problem(await client.get(path, headers={"Host": host}), 403, "forbidden")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:8765"])
async def test_forged_origin_changes_nothing(house: House, origin: str) -> None:
    async with await house.browser("ann") as client:
        for method, path in (("POST", "/api/threads"), ("POST", "/logout"), ("POST", "/login")):
            answer = await client.request(method, path, headers={"Origin": origin})
            assert_problem(answer, 403, "forbidden")
        assert (await client.get("/api/threads", headers={"Origin": origin})).json() == {"threads": []}


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://127.0.0.1:8765"}])
async def test_own_origin_and_none_pass(house: House, headers: dict[str, str]) -> None:
    async with await house.browser("ann") as client:
        assert (await client.post("/api/threads", headers=headers)).status_code == 201


@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{sorted(r.methods or ())} {r.path}")
async def test_no_route_leads_to_another_host(root: Client, route: APIRoute) -> None:
    path = re.sub(r"\{\w+\}", "%2f%2fevil.example", route.path)
    names = [parameter.alias for parameter in route.dependant.query_params]
    for elsewhere in ("//evil.example/", "https://evil.example/", "/\\evil.example", "%2f%2fevil.example"):
        named = dict.fromkeys([*names, "thread", "step", "head", "next", "back", "link"], elsewhere)
        for method in (route.methods or set()) & {"GET", "POST"}:
            answer = await root.request(
                method, path, params=named, data=named if method == "POST" else None, headers={"Accept": "text/html"}
            )
            location = answer.headers.get("Location", answer.headers.get("HX-Redirect", "/"))
            assert re.match(r"/(?![/\\])", location), location


async def test_answers_carry_headers_that_protect_them(ann: Client, nobody: Client) -> None:
    for answer in (await ann.get("/api/threads"), await nobody.get("/login"), await nobody.get("/api/threads")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_ids_are_strings_everywhere(ann: Client, thread: str) -> None:
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
    (step,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    (message, _) = (await ann.get(f"/api/threads/{thread}/messages")).json()["messages"]
    for value in (step["id"], step["thread_id"], message["id"]):
        assert isinstance(value, str)


async def test_surface_follows_the_kind_of_sign_in(house: House, ann: Client) -> None:
    assert (await ann.get(f"/api/threads/{await started(ann)}")).json()["surface"] == "api"
    async with await house.browser("ann") as browser:
        assert (await browser.get(f"/api/threads/{await started(browser)}")).json()["surface"] == "web"


async def test_settings_change_is_all_or_nothing(root: Client, house: House) -> None:
    assert (await root.patch("/api/settings", json={"time_travel.retention_days": 7})).json()["settings"][0][
        "value"
    ] == 7
    for value in (0, -1, "", 10**9, "30 days", True):
        assert_problem(
            await root.patch("/api/settings", json={"time_travel.retention_days": value}), 422, "invalid_request"
        )
    assert_problem(await root.patch("/api/settings", json={}), 422, "invalid_request")
    assert house.settings.days == 7


async def test_audit_names_what_was_refused(ann: Client, bob: Client, root: Client, thread: str) -> None:
    await bob.post("/api/replay/undo", json={"thread_id": thread})
    entries = (await root.get("/api/audit", params={"thread_id": thread})).json()["entries"]
    (entry,) = [e for e in entries if e["action"] == "undo"]
    assert (entry["actor"], entry["outcome"], entry["code"], entry["surface"]) == ("bob", "refused", "not_found", "api")
    for limit in ("0", "1001", "x"):
        assert_problem(await root.get("/api/audit", params={"limit": limit}), 422, "invalid_request")


async def test_metrics_are_prometheus_text(root: Client) -> None:
    answer = await root.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "turnback_capture_total" in answer.text


async def test_metrics_count_the_steps_of_now(root: Client, ann: Client, thread: str) -> None:
    assert "\nturnback_steps 0.0\n" in (await root.get("/metrics")).text
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "hello"})
    assert "\nturnback_steps 1.0\n" in (await root.get("/metrics")).text


async def test_health_needs_nothing(nobody: Client) -> None:
    assert (await nobody.get("/healthz")).json() == {"status": "ok"}
    assert (await nobody.get("/readyz")).json() == {"status": "ok"}
    assert (await nobody.get("/favicon.ico")).status_code == 200
    assert (await nobody.get("/static/turnback.css")).status_code == 200
    assert (await nobody.get("/static/../app.py")).status_code != 200
    assert (await nobody.get("/static/..%2fapp.py")).status_code == 404


async def everything_of(house: House, thread: str) -> list[Any]:
    service: Turnback = house.service
    view = await service.threads.view(thread)  # type: ignore[arg-type]
    return [
        view,
        await service.threads.transcript(thread, everything=True),  # type: ignore[arg-type]
        await service.steps.rows(thread),  # type: ignore[arg-type]
        await service.threads.list_threads(house.bob.id),
    ]


async def started(client: Client) -> str:
    return str((await client.post("/api/threads")).json()["thread_id"])


def assert_problem(answer: httpx2.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["title"]
    assert problem["type"]
