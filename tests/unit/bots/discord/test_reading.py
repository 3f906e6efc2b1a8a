"""What was heard, as plain values."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
import pytest

from turnback.bots.discord.keys import Spot, jump_url, place_at
from turnback.bots.discord.reading import FileSent, Heard, heard_of, without_mention

OURS = ["<@5>", "<@!5>", "<@&7>"]

HEARD = Heard(
    kind="message",
    id="8801",
    spot=Spot(channel="1234567890123456789", guild="9", threads=True),
    user="42",
    name="Ann",
    at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    text="summarise",
    mentioned=True,
    answers="77",
    files=(FileSent(name="a.txt", mime="text/plain", size=3, url="https://cdn.example/a.txt"),),
)


def test_what_is_claimed_reads_back_as_it_was() -> None:
    assert heard_of(orjson.loads(orjson.dumps(HEARD.payload()))) == HEARD


def test_ids_are_texts_in_what_is_claimed() -> None:
    payload = HEARD.payload()
    assert payload["spot"]["channel"] == "1234567890123456789"
    assert not any(isinstance(value, int) and not isinstance(value, bool) for value in payload.values())


def test_no_token_is_kept() -> None:
    assert not any("token" in name for name in HEARD.payload())


def test_person_may_be_let_in_by_their_guild() -> None:
    assert (HEARD.person.identity, HEARD.person.scopes) == ("discord:42", ("discord:guild:9",))


def test_place_is_the_channel_and_a_direct_chat_is_no_group() -> None:
    assert (place_at(HEARD.spot).key, place_at(HEARD.spot).group) == ("1234567890123456789", True)
    assert place_at(HEARD.spot).can.side_places
    direct = place_at(Spot(channel="3"))
    assert (direct.group, direct.can.side_places) == (False, False)
    assert jump_url(Spot(channel="3"), "4") == "https://discord.com/channels/@me/3/4"


@pytest.mark.parametrize(
    ("text", "bare", "begins"),
    [
        ("<@5> hello", "hello", True),
        ("<@!5>, <@5>: hello", "hello", True),
        ("<@&7> replay list", "replay list", True),
        ("hello <@5>", "hello", False),
        ("ask <@5> about it", "ask <@5> about it", False),
        ("hello", "hello", False),
    ],
)
def test_mention_that_a_text_begins_or_ends_with_is_no_part_of_it(text: str, bare: str, begins: bool) -> None:
    assert without_mention(text, OURS) == (bare, begins)
