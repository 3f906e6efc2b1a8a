"""The simulated Slack with the real library: what people and a bot can do together over Socket Mode."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest
from platforms.core import ClientRefused
from platforms.gate import Gate
from platforms.slack.echo import client_of, echo_app, listening, page
from platforms.slack.server import SlackServer
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient


@pytest.fixture(autouse=True)
def no_violations(slack: SlackServer) -> Iterator[None]:
    yield
    assert slack.violations == []


async def test_saying_something_is_answered_in_the_direct_chat(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.say("a < b & c 😀")
    [answer] = await ann.private.replies()
    assert answer.text == "@ann: a < b & c 😀"
    assert "a &lt; b &amp; c" in answer.wire


async def test_writing_in_a_thread_is_answered_there(slack: SlackServer, echo: AsyncApp) -> None:
    ann, bob = slack.user("Ann"), slack.user("Bob")
    general = slack.channel("general", [ann, bob])
    first, second = await ann.say("first", general), await bob.say("second", general)
    await ann.say("inside", general, thread=first)
    answer = await general.seen("inside", thread=first)
    assert answer.thread_ts == first.ts
    await general.no_replies(thread=second)
    assert (await general.seen("second")).thread_ts is None


async def test_a_mention_comes_as_two_events_with_one_ts(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    said = await ann.mention("list", slack.channel("general", [ann]))
    await slack.deliveries.settled()
    [mention] = slack.deliveries.events("app_mention")
    [message] = [event for event in slack.deliveries.events("message") if event["ts"] == said.ts]
    assert mention["ts"] == message["ts"]
    assert mention["text"] == f"<@{slack.app.user_id}> list"
    assert len({each.payload["event_id"] for each in slack.deliveries.history}) == len(slack.deliveries.history)


async def test_links_that_slack_finds_are_wrapped(slack: SlackServer) -> None:
    ann = slack.user("Ann")
    said = await ann.say("open main.py, `not.py` and mail ana@example.org, see https://a.example/?x=1&y.")
    assert said.wire == (
        "open <http://main.py|main.py>, `not.py` and mail <mailto:ana@example.org|ana@example.org>, "
        "see <https://a.example/?x=1&amp;y>."
    )
    assert said.text == "open main.py, `not.py` and mail ana@example.org, see https://a.example/?x=1&y."


async def test_a_command_is_answered_before_the_asker_alone(slack: SlackServer, echo: AsyncApp) -> None:
    ann, bob = slack.user("Ann"), slack.user("Bob")
    general = slack.channel("general", [ann, bob])
    command = await ann.command("/replay list", general)
    await command.answered()
    shown = await general.seen("*page 1*")
    assert shown.only_for == ann.id
    assert shown.wire == "page 1 of list"
    assert "thread_ts" not in command.payload
    with pytest.raises(ClientRefused):
        await bob.press("Next", shown)


async def test_a_command_in_a_thread_is_refused_by_the_client(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    general = slack.channel("general", [ann])
    said = await ann.say("topic", general)
    with pytest.raises(ClientRefused, match="not supported in threads"):
        await ann.command("/replay list", general, thread=said)
    with pytest.raises(ClientRefused, match="not a valid command"):
        await ann.command("/rewind", general)
    await general.seen("topic")


async def test_pressing_a_button_changes_what_only_the_asker_sees(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.command("/replay list")
    shown = await ann.private.seen("page 1")
    press = await ann.press("Next", shown)
    assert await ann.private.seen("page 2") is shown
    assert shown.edits == ["*page 1*"]
    assert shown.buttons == []
    assert press.payload["container"]["is_ephemeral"]
    assert "message" not in press.payload


async def test_selecting_an_option_reaches_the_bot(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.command("/replay list")
    chosen = await ann.select("Turn 2", await ann.private.seen("page 1"))
    await chosen.answered()
    assert (await ann.private.seen("chose t2")).only_for == ann.id


async def test_a_modal_is_filled_in_and_sent_off(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    general = slack.channel("general", [ann])
    await ann.command("/fork", general)
    refused = await ann.submit({"name": "taken"})
    assert refused.answer == {"response_action": "errors", "errors": {"label": "That name is taken."}}
    with pytest.raises(ClientRefused, match="0 to 20"):
        await ann.submit({"name": "x" * 21})
    await ann.submit({"name": "good"})
    assert ann.views == []
    await general.seen("named good")


async def test_a_shortcut_names_its_message(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    general = slack.channel("general", [ann])
    said = await ann.say("the answer", general)
    await ann.shortcut(said, "rewind")
    assert (await general.seen("rewound to the answer")).only_for == ann.id
    with pytest.raises(ClientRefused, match="no shortcut"):
        await ann.shortcut(said, "undeclared")


async def test_editing_a_message_arrives_as_a_change(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    said = await ann.say("frist")
    await ann.private.seen("frist")
    await ann.edit(said, "first")
    await ann.private.seen("first (edited)")
    [change] = slack.deliveries.events("message_changed")
    assert change["message"]["ts"] == said.ts
    assert change["ts"] != said.ts
    assert change["previous_message"]["text"] == "frist"


async def test_deleting_a_message_arrives_as_a_deletion(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    said = await ann.say("secret")
    await ann.delete(said)
    await slack.deliveries.settled()
    [deletion] = slack.deliveries.events("message_deleted")
    assert deletion["deleted_ts"] == said.ts


async def test_the_bot_hears_itself_and_the_library_ignores_that(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.say("hello")
    answer = await ann.private.seen("hello")
    await ann.private.no_replies(since=ann.private.mark())
    heard = slack.deliveries.events("message")
    assert [event["ts"] for event in heard][-1] == answer.ts
    assert heard[-1]["bot_id"] == slack.app.bot_id


async def test_other_bots_and_webhooks_write_as_bots(slack: SlackServer, echo: AsyncApp) -> None:
    general = slack.channel("general", [ci := slack.user("CI", bot=True)])
    await ci.say("built", general)
    await slack.webhook("Alerts").say("down", general)
    await general.no_replies(since=0)
    by_bot, by_hook = slack.deliveries.events("message")
    assert (by_bot["bot_id"], by_bot["user"]) == (ci.bot_id, ci.id)
    assert by_hook["subtype"] == "bot_message"
    assert "user" not in by_hook


async def test_an_assistant_thread_shows_a_status_until_the_answer(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    root = await ann.open_assistant()
    await ann.private.status("is thinking")
    assert (await ann.private.seen("hello", thread=root)).thread_ts == root.ts
    assert ann.private.statuses[-1] == ("", root.ts)
    await ann.say("inside", thread=root)
    await ann.private.seen("inside", thread=root)


async def test_the_bot_is_told_only_of_channels_that_it_is_in(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    general = slack.channel("general", [ann], bot=False)
    await ann.say("before", general)
    await ann.add_bot(general)
    await ann.say("while", general)
    await general.seen("while")
    await ann.kick_bot(general)
    await ann.say("after", general)
    await general.no_replies(since=general.mark())
    texts = [event.get("text") for event in slack.deliveries.events("message")]
    assert "before" not in texts
    assert "after" not in texts
    assert slack.deliveries.events("member_joined_channel")[0]["user"] == slack.app.user_id


async def test_each_kind_of_channel_has_its_own_event(slack: SlackServer, echo: AsyncApp) -> None:
    ann, bob = slack.user("Ann"), slack.user("Bob")
    secret, both = slack.channel("secret", [ann], private=True), slack.group_direct([ann, bob])
    for channel in (secret, both, ann.private):
        await ann.say("where am I", channel)
        await channel.seen("where am I")
    kinds = [event["channel_type"] for event in slack.deliveries.events("message") if "bot_id" not in event]
    assert kinds == ["group", "mpim", "im"]
    slack.app.manifest = replace(slack.app.manifest, events=frozenset({"message.im"}))
    await ann.say("unheard", secret)
    await secret.no_replies()


async def test_who_is_not_in_a_channel_cannot_write_there(slack: SlackServer) -> None:
    ann, bob = slack.user("Ann"), slack.user("Bob")
    general = slack.channel("general", [ann])
    for act in (bob.say("hi", general), bob.command("/replay list", general), bob.add_bot(general)):
        with pytest.raises(ClientRefused, match="not in"):
            await act
    said = await ann.say("hi", general)
    with pytest.raises(ClientRefused, match="own messages"):
        await bob.edit(said, "other")
    await ann.archive(general)
    with pytest.raises(ClientRefused, match="archived"):
        await ann.say("late", general)


async def test_a_press_on_its_way_finds_its_message_gone(slack: SlackServer, echo: AsyncApp) -> None:
    ann, client = slack.user("Ann"), client_of(slack)
    sent = await client.chat_postMessage(channel=ann.private.id, text="choose", blocks=page("1"))
    button = ann.private.find("page 1").button("Next")
    await client.chat_delete(channel=ann.private.id, ts=sent["ts"])
    press = await ann.press(button)
    await press.answered()
    assert press.payload["message"] == {"type": "message", "ts": sent["ts"]}
    with pytest.raises(ClientRefused, match="gone"):
        await ann.press("Next", button.message)


async def test_waiting_for_what_never_comes_says_what_there_was(slack: SlackServer, echo: AsyncApp) -> None:
    ann = slack.user("Ann")
    await ann.say("hello")
    with pytest.raises(AssertionError, match="@ann: hello"):
        await ann.private.seen("farewell", seconds=0.3)
    with pytest.raises(AssertionError, match="the bot said"):
        await ann.private.no_replies()


async def test_a_file_of_a_person_is_fetched_with_the_token(slack: SlackServer, client: AsyncWebClient) -> None:
    sent = await slack.user("Ann").send_file("notes.txt", b"one", comment="for you")
    [file] = sent.files
    async with httpx2.AsyncClient(trust_env=False) as http:
        token = {"Authorization": f"Bearer {client.token}"}
        answer = await http.get(file["url_private_download"], headers=token)
    assert (answer.content, file["name"], file["size"]) == (b"one", "notes.txt", 3)


async def test_the_bot_sends_a_file_in_three_steps(slack: SlackServer, client: AsyncWebClient) -> None:
    ann = slack.user("Ann")
    general = slack.channel("general", [ann])
    said = await ann.say("long one", general)
    sent = await client.files_upload_v2(
        channel=general.id, thread_ts=said.ts, content="# long", filename="answer.md", initial_comment="All of it:"
    )
    [shown] = await general.replies(since=0)
    assert (shown.data, shown.text, shown.thread_ts) == (b"# long", "All of it:", said.ts)
    info = await client.files_info(file=sent["file"]["id"])
    assert info["file"]["shares"]["public"][general.id][0]["ts"] == shown.ts


async def test_an_update_with_text_alone_drops_the_blocks(slack: SlackServer, client: AsyncWebClient) -> None:
    general = slack.channel("general", [slack.user("Ann")])
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": "Title"}}]
    sent = await client.chat_postMessage(channel=general.id, text="t", blocks=blocks)
    [shown] = general.said()
    assert shown.text == "Title"
    await client.chat_update(channel=general.id, ts=sent["ts"], text="plain")
    assert (shown.text, shown.blocks, shown.edits) == ("plain", [], ["Title"])
    await client.chat_delete(channel=general.id, ts=sent["ts"])
    await general.gone(shown)


async def test_markdown_blocks_show_an_answer(slack: SlackServer, client: AsyncWebClient) -> None:
    general = slack.channel("general", [ann := slack.user("Ann")])
    markdown = {"type": "markdown", "text": "**Bold** for <@" + ann.id + ">, `a < b`"}
    await client.chat_postMessage(channel=general.id, text="Bold", blocks=[markdown])
    assert general.said()[0].text == "**Bold** for @ann, `a < b`"
    assert general.said()[0].pings == {ann.id}


async def test_people_and_channels_are_looked_up(slack: SlackServer, client: AsyncWebClient) -> None:
    ann, bob = slack.user("Ann", owner=True), slack.user("Bob")
    general = slack.channel("general", [ann, bob])
    assert (await client.auth_test())["user_id"] == slack.app.user_id
    assert (await client.team_info())["team"]["id"] == slack.app.team
    assert (await client.users_info(user=ann.id))["user"]["is_owner"]
    assert not (await client.users_info(user=bob.id))["user"]["is_admin"]
    assert (await client.conversations_info(channel=general.id))["channel"]["creator"] == ann.id
    first = await client.conversations_members(channel=general.id, limit=2)
    rest = await client.conversations_members(channel=general.id, cursor=first["response_metadata"]["next_cursor"])
    assert [*first["members"], *rest["members"]] == [ann.id, bob.id, slack.app.user_id]
    assert (await client.conversations_open(users=[bob.id]))["channel"]["id"] == bob.private.id


async def test_a_thread_is_read_back(slack: SlackServer, client: AsyncWebClient) -> None:
    general = slack.channel("general", [ann := slack.user("Ann")])
    root = await ann.say("root", general)
    await client.chat_postMessage(channel=general.id, thread_ts=root.ts, text="reply")
    await client.chat_postMessage(channel=general.id, text="beside")
    found = await client.conversations_replies(channel=general.id, ts=root.ts)
    assert [message["text"] for message in found["messages"]] == ["root", "reply"]


async def test_a_reaction_is_put_and_taken(slack: SlackServer, client: AsyncWebClient) -> None:
    said = await (ann := slack.user("Ann")).say("look")
    await client.reactions_add(channel=ann.private.id, timestamp=said.ts, name="eyes")
    assert said.reactions == {"eyes": {slack.app.user_id}}
    with pytest.raises(SlackApiError, match="already_reacted"):
        await client.reactions_add(channel=ann.private.id, timestamp=said.ts, name="eyes")
    await client.reactions_remove(channel=ann.private.id, timestamp=said.ts, name="eyes")
    assert said.reactions == {"eyes": set()}


async def test_own_hosts_are_given_out_when_asked_for() -> None:
    async with SlackServer(own_hosts=True) as slack:
        command = await slack.user("Ann").command("/replay list")
        assert str(command.payload["response_url"]).startswith("https://hooks.slack.com/response/")
        assert slack.sockets.open_url().startswith("wss://wss-primary.slack.com/link/?ticket=")


async def test_slacks_own_hosts_lead_here_through_a_gate() -> None:
    async with SlackServer(own_hosts=True) as slack, Gate(slack.routes) as gate:
        environment = gate.environment()
        proxy, trusted = environment["HTTPS_PROXY"], ssl.create_default_context(cafile=environment["SSL_CERT_FILE"])
        client = AsyncWebClient(token=slack.bot_token, proxy=proxy, ssl=trusted)
        async with listening(slack, echo_app(slack, client), proxy=proxy):
            ann = slack.user("Ann")
            await ann.command("/replay list")
            await ann.private.seen("page 1")
            await client.files_upload_v2(channel=ann.private.id, content="long", filename="a.md")
        assert set(gate.reached) >= {"slack.com", "wss-primary.slack.com", "hooks.slack.com", "files.slack.com"}
        assert slack.violations == []
