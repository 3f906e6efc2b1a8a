"""OpenAPI, true to the answers: schemathesis calls every operation with good and bad values."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance, use_after_free
from support.web import Patient, furnish
from support.world import Clock

from turnback.core import open_service
from turnback.web.app import create_app
from turnback.web.server import serve

EXAMPLES = 8
"""Values tried per operation and kind; enough to meet each type once, and quick."""


class Empty:
    people = events = None


SCHEMA = schemathesis.openapi.from_dict(
    create_app(Empty(), settings=None, commands=None).openapi()  # type: ignore[arg-type]
).exclude(path="/api/events")  # a stream that does not end by itself


@dataclass
class Running:
    """A server, and a client of it that is signed in as an admin."""

    url: str
    token: str
    client: httpx2.Client

    def place(self) -> tuple[str, str]:
        """A new conversation with one step."""
        thread = self.client.post("/api/threads").json()["thread_id"]
        body = {"turn_index": 1, "iteration": 0, "state": {"messages": [{"role": "user", "content": "hi"}]}}
        return thread, self.client.post(f"/api/replay/snapshots/{thread}", json=body).json()["id"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A real server on a thread of its own, with an admin's token."""
    ready = threading.Event()
    found: dict[str, str] = {}
    ends: list[Any] = []

    async def run(data: Path) -> None:
        stop = asyncio.Event()
        ends.extend((asyncio.get_running_loop(), stop))
        clock = Clock()
        async with open_service(data, agent=Patient(), clock=clock, maintain=False) as service:
            house = await furnish(service, Patient(), clock)
            found["token"] = house.tokens["root"]

            def listening(host: str, port: int) -> None:
                found["url"] = f"http://{host}:{port}"
                ready.set()

            await serve(house.app, host="127.0.0.1", port=0, on_listening=listening, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(run(tmp_path_factory.mktemp("openapi"))))
    thread.start()
    assert ready.wait(20)
    headers = {"Authorization": f"Bearer {found['token']}"}
    with httpx2.Client(base_url=found["url"], headers=headers, trust_env=False, timeout=30) as client:
        yield Running(**found, client=client)
    loop, stop = ends
    loop.call_soon_threadsafe(stop.set)
    thread.join(20)
    assert not thread.is_alive()


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case: schemathesis.Case[Any], running: Running) -> None:
    if case.meta is not None and case.meta.generation.mode.is_positive:
        _lead_to_a_real_step(case, running)
    answer = case.call(
        base_url=running.url, headers={"Authorization": f"Bearer {running.token}"}, proxies={"http": "", "https": ""}
    )
    unknown = [positive_data_acceptance] if (case.method, case.path) == ("PATCH", "/api/settings") else []
    case.validate_response(answer, excluded_checks=[ignored_auth, use_after_free, *unknown])


def _lead_to_a_real_step(case: schemathesis.Case[Any], running: Running) -> None:
    """Well-formed requests about a conversation mean one that is there, as far as they can."""
    names = {"thread_id", "step", "snapshot_id", "a"}
    places = [p for p in (case.path_parameters, case.body) if isinstance(p, dict) and names & set(p)]
    if not places:
        return
    thread, step = running.place()
    real = {"thread_id": thread, "step": step, "snapshot_id": step, "a": step}
    for place in places:
        place.update({name: real[name] for name in names & set(place)})
    if isinstance(case.body, dict):
        case.body.pop("b", None)
        case.body.pop("b_thread_id", None)
