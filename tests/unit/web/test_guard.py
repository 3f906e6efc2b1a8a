"""Which names and pages are ours."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from turnback.core.models import ThreadId
from turnback.web.guard import Guard, Site

LOCAL = Site(host="127.0.0.1", port=8765)
PUBLIC = Site(host="127.0.0.1", port=8765, public_url="https://bot.example/")
EVERYWHERE = Site(host="0.0.0.0", port=8765)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_loopback_names_with_our_port_are_ours(host: str) -> None:
    assert LOCAL.is_ours(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "localhost:8766",
        "127.0.0.1:8765.evil.example",
        "127.0.0.1.evil.example:8765",
        "user@127.0.0.1:8765",
        "127.0.0.1:8765/x",
        "127.0.0.1:port",
        "127.0.0.1:99999",
        "[::1",
        "192.168.1.5:8765",
        "0.0.0.0:8765",
    ],
)
def test_other_names_are_not_ours(host: str) -> None:
    assert not LOCAL.is_ours(host)


def test_public_name_is_ours_with_and_without_its_default_port() -> None:
    assert PUBLIC.is_ours("bot.example")
    assert PUBLIC.is_ours("bot.example:443")
    assert PUBLIC.is_ours("127.0.0.1:8765")
    assert not PUBLIC.is_ours("bot.example:8443")
    assert not PUBLIC.is_ours("www.bot.example")


def test_bound_everywhere_numbers_are_ours_and_names_are_not() -> None:
    assert EVERYWHERE.is_ours("192.168.1.5:80")
    assert EVERYWHERE.is_ours("localhost:9000")
    assert not EVERYWHERE.is_ours("evil.example:8765")


def test_bound_name_is_ours() -> None:
    site = Site(host="turnback.lan", port=80)
    assert site.is_ours("turnback.lan")
    assert not site.is_ours("localhost")


def test_listens_on_tells_the_real_port() -> None:
    site = Site(host="127.0.0.1", port=0)
    site.listens_on("127.0.0.1", 4321)
    assert site.is_ours("127.0.0.1:4321")
    assert site.url == "http://127.0.0.1:4321"


@pytest.mark.parametrize(
    ("site", "url"),
    [
        (LOCAL, "http://127.0.0.1:8765"),
        (EVERYWHERE, "http://127.0.0.1:8765"),
        (PUBLIC, "https://bot.example"),
        (Site(host="::1", port=1), "http://[::1]:1"),
    ],
)
def test_url_is_where_people_reach_us(site: Site, url: str) -> None:
    assert site.url == url
    assert site.thread_url(ThreadId("t")) == f"{url}/chats/t"
    assert site.steps_url(ThreadId("t")) == f"{url}/replay?thread=t"
    assert site.sign_in_url("s") == f"{url}/login?link=s"


def test_own_origin_is_ours() -> None:
    assert LOCAL.is_our_origin("http://127.0.0.1:8765", "127.0.0.1:8765", "http")
    assert PUBLIC.is_our_origin("https://bot.example", "127.0.0.1:8765", "http")


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1:9999",
        "https://127.0.0.1:8765",
        "http://localhost:8765",
        "http://127.0.0.1:8765.evil.example",
        "file://",
        "http://",
    ],
)
def test_other_origins_are_not_ours(origin: str) -> None:
    assert not LOCAL.is_our_origin(origin, "127.0.0.1:8765", "http")


def test_secure_follows_the_public_address() -> None:
    assert PUBLIC.secure
    assert not LOCAL.secure
    assert not Site(public_url="http://bot.example").secure


@pytest.mark.parametrize(("path", "status"), [("/hooks/telegram", 200), ("/api/threads", 403), ("/hooks", 403)])
async def test_hooks_are_called_by_any_name_the_rest_by_ours_only(path: str, status: int) -> None:
    guarded = TestClient(Guard(PlainTextResponse("in"), LOCAL), base_url="http://elsewhere.example")
    assert guarded.post(path, headers={"Origin": "http://elsewhere.example"}).status_code == status
