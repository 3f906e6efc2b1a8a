"""Which of what Slack tells is for us, and what it means. The shapes are Slack's."""

from __future__ import annotations

from typing import Any

import pytest

from turnback.bots.slack.directory import Me
from turnback.bots.slack.keys import Spot, place_at, spot_of
from turnback.bots.slack.reading import SECRETS, Heard, claim_key, form, hear, kept

ME = Me(team="T0", user="UBOT", bot="BBOT", name="turnback")
TS = "1700000000.000100"


def told(text: str = "one", *, channel: str = "C1", **more: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": channel, "user": "U1", "ts": TS, "text": text, **more}
    return {"team_id": "T0", "event_id": "Ev1", "event": event}


def heard(text: str = "one", **more: Any) -> Heard | None:
    return hear("event", told(text, **more), ME)


def test_mention_in_a_channel_is_keyed_by_its_own_message() -> None:
    found = heard("<@UBOT> one")
    assert found is not None
    assert (found.spot.key, found.text, found.mentioned) == (f"T0/C1/{TS}", "one", True)


def test_mention_in_the_middle_addresses_us_but_is_no_command() -> None:
    found = heard("what says <@UBOT> to it?")
    assert found is not None
    assert (found.addressed, found.mentioned) == (True, False)


def test_reply_in_a_thread_is_keyed_by_the_thread() -> None:
    found = heard("<@UBOT> one", thread_ts="1.000001")
    assert found is not None
    assert found.spot.key == "T0/C1/1.000001"


def test_direct_message_is_keyed_by_its_channel_alone() -> None:
    found = heard(channel="D1")
    assert found is not None
    assert (found.spot.key, place_at(found.spot).group) == ("T0/D1", False)


def test_talk_in_a_channel_is_not_for_us() -> None:
    assert heard() is None
    assert heard("!replay list") is None


def test_talk_in_a_thread_is_doubtful_but_a_bang_word_is_not() -> None:
    talk, command = heard(thread_ts="1.000001"), heard("!replay list", thread_ts="1.000001")
    assert talk is not None
    assert command is not None
    assert (talk.doubtful, command.doubtful) == (True, False)


@pytest.mark.parametrize("subtype", ["message_changed", "message_deleted", "channel_join", "bot_message"])
def test_what_nobody_wrote_just_now_starts_nothing(subtype: str) -> None:
    assert heard("<@UBOT> one", subtype=subtype) is None


@pytest.mark.parametrize("more", [{"user": "UBOT"}, {"bot_id": "BBOT"}, {"bot_id": "B2"}])
def test_neither_we_nor_other_bots_are_heard(more: dict[str, str]) -> None:
    assert heard("<@UBOT> one", **more) is None


def test_bot_that_is_named_is_heard() -> None:
    body = told("<@UBOT> one", bot_id="B2", user="U2")
    assert hear("event", body, ME, lambda user: user == "U2") is not None


def test_bare_mention_asks_for_help() -> None:
    found = heard("<@UBOT>")
    assert found is not None
    assert found.text == "/help"


def test_two_events_of_one_message_have_one_key() -> None:
    again = told()
    again["event_id"], again["event"]["type"] = "Ev2", "app_mention"
    assert claim_key("event", told()) == claim_key("event", again) == f"T0:C1:{TS}"


def test_slash_command_is_about_its_channel() -> None:
    body = {"team_id": "T0", "channel_id": "C1", "user_id": "U1", "command": "/replay", "text": "compare &lt;a&gt;"}
    found = hear("command", body, ME)
    assert found is not None
    assert (found.spot.key, found.text) == ("T0/C1", "/replay compare <a>")


def press(action: dict[str, Any], **container: Any) -> Heard | None:
    where = {"message_ts": TS, "channel_id": "C1", **container}
    user = {"id": "U1", "team_id": "T0"}
    body = {"type": "block_actions", "team": {"id": "T0"}, "user": user, "channel": {"id": "C1"}, "container": where}
    return hear("interaction", {**body, "actions": [action]}, ME)


def test_press_in_a_thread_is_about_that_thread() -> None:
    found = press({"action_id": "turnback:0", "value": "/undo"}, thread_ts="1.000001")
    assert found is not None
    assert (found.spot.key, found.text, found.message) == ("T0/C1/1.000001", "/undo", TS)


def test_message_that_one_person_sees_cannot_be_changed() -> None:
    found = press({"action_id": "turnback:0", "value": "/undo"}, is_ephemeral=True)
    assert found is not None
    assert found.message == ""


def test_form_gives_the_command_and_the_place_back() -> None:
    asked = press({"action_id": "turnback:ask:0", "value": "/replay name x", "text": {"text": "Label"}})
    assert asked is not None
    assert asked.asks
    view = form(asked)
    state = {"values": {view["blocks"][0]["block_id"]: {view["blocks"][0]["element"]["action_id"]: {"value": " a "}}}}
    body = {"type": "view_submission", "user": {"id": "U1"}, "team": {"id": "T0"}, "view": {**view, "state": state}}
    found = hear("interaction", body, ME)
    assert found is not None
    assert (found.text, found.spot, found.message) == ("/replay name x a", asked.spot, asked.message)


def test_secrets_are_not_kept() -> None:
    assert kept({**dict.fromkeys(SECRETS, "x"), "command": "/undo"}) == {"command": "/undo"}


@pytest.mark.parametrize("key", ["T0/C1", "T0/D1/1700000000.000100"])
def test_key_of_a_place_reads_back(key: str) -> None:
    assert spot_of(key).key == key


@pytest.mark.parametrize("key", ["", "T0", "T0/", "/C1"])
def test_no_key_of_ours_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="no place of Slack"):
        spot_of(key)


def test_team_keeps_places_apart() -> None:
    assert Spot("T0", "C1").key != Spot("T1", "C1").key
