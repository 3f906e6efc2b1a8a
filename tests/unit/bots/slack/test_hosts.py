"""Who is handed the token, and answers."""

from __future__ import annotations

import pytest

from turnback.bots.slack.hosts import base_of, is_slacks


@pytest.mark.parametrize(
    "url", ["https://hooks.slack.com/commands/T/1/x", "https://files.slack.com/f", "https://files.slack-gov.com/f"]
)
def test_slacks_own_hosts_are_trusted(url: str) -> None:
    assert is_slacks(url, None)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.slack.com/x",
        "https://hooks.slack.com.evil.example/x",
        "https://evilslack.com/x",
        "https://hooks.slack.com:8443/x",
        "https://user@evil.example/hooks.slack.com",
        "",
        "https://[",
    ],
)
def test_others_are_not(url: str) -> None:
    assert not is_slacks(url, None)


def test_the_api_that_we_are_told_to_use_is_trusted() -> None:
    assert is_slacks("http://127.0.0.1:80/response/x", "http://127.0.0.1:80/api/")
    assert not is_slacks("http://127.0.0.1:81/response/x", "http://127.0.0.1:80/api/")


def test_base_ends_with_a_slash() -> None:
    assert base_of("http://h/api") == "http://h/api/"
    assert base_of(None) == "https://slack.com/api/"
