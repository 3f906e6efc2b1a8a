"""What Telegram's refusals mean, and how long we try."""

from __future__ import annotations

from typing import Any

import pytest
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, TelegramError, TimedOut

from turnback.bots.platform import Down, Unreachable
from turnback.bots.telegram.trouble import (
    GIVE_UP_SECONDS,
    MessageGone,
    TopicGone,
    Unchanged,
    Unformatted,
    meaning,
    sent,
    without_quotes,
)


class Line:
    """A way to Telegram that fails so and so often, and the waits in between."""

    def __init__(self, *failures: TelegramError, always: TelegramError | None = None) -> None:
        self.failures = list(failures)
        self.always = always
        self.waits: list[float] = []

    async def call(self) -> str:
        if self.failures:
            raise self.failures.pop(0)
        if self.always:
            raise self.always
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def send(self) -> str:
        return await sent(self.call, sleep=self.sleep)


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("Message is not modified: specified new message content", Unchanged),
        ("Can't parse entities: unsupported start tag", Unformatted),
        ("Entity begins in a middle of a UTF-16 symbol at offset 3", Unformatted),
        ("Message thread not found", TopicGone),
        ("TOPIC_DELETED", TopicGone),
        ("Message to edit not found", MessageGone),
        ("Message can't be edited", MessageGone),
        ("Chat not found", Unreachable),
        ("Message is too long", Unreachable),
        ("TOPIC_CLOSED", Unreachable),
    ],
)
def test_meaning_of_what_telegram_says(words: str, means: type[Exception]) -> None:
    assert type(meaning(BadRequest(words))) is means


def test_meaning_of_a_forbidden_chat_is_that_it_cannot_be_reached() -> None:
    assert type(meaning(Forbidden("Forbidden: bot was blocked by the user"))) is Unreachable


def test_meaning_names_no_link_that_telegram_quotes() -> None:
    words = "Inline keyboard button URL 'https://a.example/login?link=s3cret' is invalid: Wrong HTTP URL"
    assert str(meaning(BadRequest(words))) == "Inline keyboard button URL"
    assert "s3cret" not in without_quotes("URL https://a.example/login?link=s3cret is invalid")


@pytest.mark.parametrize("trouble", [NetworkError("x"), TimedOut(), InvalidToken("x")])
async def test_sent_through_trouble_that_passes(trouble: TelegramError) -> None:
    line = Line(trouble, trouble, trouble)
    assert await line.send() == "done"
    assert line.waits == sorted(line.waits)
    assert len(line.waits) == 3


async def test_sent_through_trouble_that_stays_gives_up_at_last() -> None:
    line = Line(always=InvalidToken("the token 123:abc was rejected"))
    with pytest.raises(Down) as raised:
        await line.send()
    assert GIVE_UP_SECONDS <= sum(line.waits) < GIVE_UP_SECONDS + 60
    assert "abc" not in str(raised.value)


@pytest.mark.parametrize(
    "refused", [BadRequest("chat not found"), Forbidden("x"), ChatMigrated(-1), TelegramError("x")]
)
async def test_sent_what_is_refused_is_not_tried_again(refused: Any) -> None:
    line = Line(refused)
    with pytest.raises((Unreachable, ChatMigrated)):
        await line.send()
    assert line.waits == []
