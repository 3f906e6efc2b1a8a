"""What Slack's refusals mean, and when a request is made again."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from turnback.bots.platform import Down, Unreachable
from turnback.bots.slack.trouble import GIVE_UP_SECONDS, TOKEN_REFUSED, MessageGone, Unformatted, meaning, sent


def refusal(error: str, status: int = 200, headers: Mapping[str, str] | None = None) -> SlackApiError:
    response = SimpleNamespace(status_code=status, data={"ok": False, "error": error}, headers=headers or {})
    return SlackApiError("xoxb-secret", response)  # type: ignore[no-untyped-call]


class Slack:
    """Answers so often with trouble, and notes how long it was left alone."""

    def __init__(self, *trouble: Exception) -> None:
        self._trouble = list(trouble)
        self.waits: list[float] = []

    async def call(self) -> str:
        if self._trouble:
            raise self._trouble.pop(0)
        return "ok"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_too_much_waits_as_long_as_slack_says() -> None:
    slack = Slack(refusal("ratelimited", 429, {"Retry-After": "7"}))
    assert await sent(slack.call, sleep=slack.sleep) == "ok"
    assert slack.waits == [7]


@pytest.mark.parametrize("trouble", [refusal("internal_error"), refusal("", 503), TimeoutError(), ConnectionError()])
async def test_passing_trouble_is_waited_out(trouble: Exception) -> None:
    slack = Slack(trouble, trouble)
    assert await sent(slack.call, sleep=slack.sleep) == "ok"
    assert slack.waits == [0.5, 1.0]


async def test_trouble_without_end_is_down() -> None:
    slack = Slack(*[ConnectionError()] * 1000)
    with pytest.raises(Down, match="cannot be reached"):
        await sent(slack.call, sleep=slack.sleep)
    assert sum(slack.waits) >= GIVE_UP_SECONDS


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("channel_not_found", Unreachable),
        ("is_archived", Unreachable),
        ("message_not_found", MessageGone),
        ("msg_blocks_too_long", Unformatted),
        ("token_revoked", Down),
        ("account_inactive", Down),
    ],
)
def test_refusals_have_a_meaning(error: str, kind: type[Exception]) -> None:
    assert isinstance(meaning(refusal(error)), kind)


async def test_refused_token_is_told_without_the_librarys_words() -> None:
    slack: Any = Slack(refusal("invalid_auth"))
    with pytest.raises(Down) as caught:
        await sent(slack.call, sleep=slack.sleep)
    assert str(caught.value) == TOKEN_REFUSED
