"""Much to say: within Slack's limits, in parts that all arrive."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from platforms.slack.api import Limits
from platforms.slack.payloads import response_url
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.idling import idle
from support.slack_bot import Bot, server, slack_bot

from turnback.bots.platform import Said
from turnback.bots.slack.answering import Answers, Asked, ResponseUrl
from turnback.bots.slack.keys import Spot
from turnback.bots.slack.outlet import SlackOutlet


@pytest.fixture
def spot(slack: SlackServer, ann: User) -> Spot:
    return Spot(slack.app.team, ann.private.id)


def address(ann: User) -> str:
    """One that came with a command, which nobody takes."""
    return response_url(ann.scene, ann, ann.private)


async def test_answer_in_more_parts_than_an_address_takes_arrives_whole(
    outlet: SlackOutlet, spot: Spot, ann: User, slack: SlackServer
) -> None:
    url = ResponseUrl(address(ann), asyncio.get_running_loop().time())
    asked = Asked(spot=spot, user=ann.id, response_url=url, by_url_first=True)
    answers = Answers(outlet)
    for number in range(8):
        await answers(asked, Said(text=f"part {number}"))
    assert [message.text for message in ann.private.said()] == [f"part {number}" for number in range(8)]
    assert (len(slack.calls_to("response_url")), len(slack.calls_to("chat.postMessage"))) == (5, 3)


async def test_answer_after_half_an_hour_goes_another_way(
    outlet: SlackOutlet, spot: Spot, ann: User, slack: SlackServer
) -> None:
    url = ResponseUrl(address(ann), float("-inf"))
    asked = Asked(spot=spot, user=ann.id, response_url=url, by_url_first=True)
    await Answers(outlet)(asked, Said(text="late"))
    assert [message.text for message in ann.private.said()] == ["late"]
    assert slack.calls_to("response_url") == []


async def test_long_list_shows_every_turn(bot: Bot, ann: User) -> None:
    titles = [f"turn {number} " + "x & <y> " * 14 for number in range(25)]
    for title in titles:
        await ann.say(title)
        await ann.private.seen(title.split(" x")[0])
    await idle(bot)
    await ann.command("/replay list")
    shown = await ann.private.seen("Steps of this chat")
    assert "Turn 25" in shown.text
    assert shown.selects


async def test_card_with_much_to_approve_changes_once_it_is_answered(bot: Bot, ann: User) -> None:
    await ann.say("shell echo " + "abc & <d> " * 380)
    card = await ann.private.seen("Approval needed")
    await ann.press("Deny", card)
    await ann.private.seen("Denied by Ann")
    assert card.buttons == []


async def test_answer_that_becomes_shorter_leaves_no_rest(outlet: SlackOutlet, spot: Spot, ann: User) -> None:
    ids = await outlet.send(spot.key, Said(text="word " * 3000, markdown=True))
    assert len(ids) > 1
    kept = await outlet.edit(spot.key, ids, Said(text="short", markdown=True))
    assert (list(kept), [m.text for m in ann.private.said()]) == ([ids[0]], ["short"])


async def test_answer_that_becomes_longer_goes_on_in_more_messages(outlet: SlackOutlet, spot: Spot, ann: User) -> None:
    ids = await outlet.send(spot.key, Said(text="short", markdown=True))
    grown = await outlet.edit(spot.key, ids, Said(text="word " * 3000, markdown=True))
    assert grown[0] == ids[0]
    assert len(grown) == len(ann.private.said()) > 1


async def test_same_again_is_not_even_sent(outlet: SlackOutlet, spot: Spot, slack: SlackServer, ann: User) -> None:
    ids = await outlet.send(spot.key, Said(text="short"))
    await outlet.edit(spot.key, ids, Said(text="short"))
    assert slack.calls_to("chat.update") == []


async def test_message_that_is_gone_is_shown_anew(outlet: SlackOutlet, spot: Spot, ann: User) -> None:
    ids = await outlet.send(spot.key, Said(text="one"))
    await outlet.delete(spot.key, ids)
    new = await outlet.edit(spot.key, ids, Said(text="two"))
    assert new != ids
    assert [message.text for message in ann.private.said()] == ["two"]


async def test_answer_calls_nobody(bot: Bot, ann: User) -> None:
    await ann.say("say <!channel> and @channel")
    shown = await ann.private.seen("You said")
    assert shown.pings == set()


async def test_answer_in_time_is_taken_by_its_address(tmp_path: Path) -> None:
    async with server(limits=Limits(answer_uses=1)) as slack, slack_bot(tmp_path, slack):
        ann = slack.user("Ann")
        general = slack.channel("general", [ann])
        await ann.command("/help", general)
        await general.seen("/replay restore STEP")
        assert len(slack.calls_to("response_url")) == 1
        assert slack.violations == []
