"""The webhook's handler, called as a web server calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from turnback.bots.telegram.hook import Hook
from turnback.bots.webhooks import MOST_BYTES

SECRET = "s3cret"
UPDATE = {"update_id": 7}


class Taken:
    """Takes updates in, or fails to."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []
        self.broken = False

    async def __call__(self, payload: Mapping[str, Any]) -> None:
        if self.broken:
            raise OSError("the disk is full")
        self.seen.append(payload)


async def status(hook: Hook, body: bytes, *, secret: str | None = SECRET, method: str = "POST") -> int:
    headers = [] if secret is None else [(b"X-Telegram-Bot-Api-Secret-Token", secret.encode())]
    parts = [{"type": "http.request", "body": body[:3], "more_body": True}, {"type": "http.request", "body": body[3:]}]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await hook({"type": "http", "method": method, "headers": headers}, receive, send)
    return int(sent[0]["status"])


@pytest.fixture
def taken() -> Taken:
    return Taken()


@pytest.fixture
def hook(taken: Taken) -> Hook:
    hook = Hook()
    hook.open(taken, SECRET)
    return hook


async def test_update_with_the_secret_is_taken(hook: Hook, taken: Taken) -> None:
    assert await status(hook, json.dumps(UPDATE).encode()) == 200
    assert taken.seen == [UPDATE]


@pytest.mark.parametrize("secret", [None, "", "wrong", "s3cret "])
async def test_update_without_the_secret_is_refused(hook: Hook, taken: Taken, secret: str | None) -> None:
    assert await status(hook, json.dumps(UPDATE).encode(), secret=secret) == 401
    assert taken.seen == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"update_id": "7"}', b"\xff"])
async def test_body_that_is_no_update_is_refused(hook: Hook, taken: Taken, body: bytes) -> None:
    assert await status(hook, body) == 400
    assert taken.seen == []


async def test_body_that_is_too_big_is_refused(hook: Hook, taken: Taken) -> None:
    assert await status(hook, b'{"update_id": 7, "x": "' + b"x" * MOST_BYTES + b'"}') in (400, 413)
    assert taken.seen == []


async def test_other_methods_are_refused(hook: Hook) -> None:
    assert await status(hook, b"", method="GET") == 405


async def test_update_before_the_start_and_after_the_end_is_to_come_again(hook: Hook, taken: Taken) -> None:
    hook.close()
    assert await status(hook, json.dumps(UPDATE).encode()) == 503
    assert await status(Hook(), json.dumps(UPDATE).encode()) == 503
    assert taken.seen == []


async def test_update_that_cannot_be_claimed_is_not_acknowledged(hook: Hook, taken: Taken) -> None:
    taken.broken = True
    with pytest.raises(OSError, match="disk"):
        await status(hook, json.dumps(UPDATE).encode())
