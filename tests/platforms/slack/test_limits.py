"""Each limit of Slack is enforced by the simulated one, and what breaks it is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from platforms.core import Json
from platforms.slack.api import Limits
from platforms.slack.channels import Channel, Message
from platforms.slack.echo import client_of, modal
from platforms.slack.manifest import EXAMPLE
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A bot in a channel with Ann, who said "hi" there; Bob is elsewhere."""

    client: AsyncWebClient
    slack: SlackServer
    ann: User
    bob: User
    general: Channel
    said: Message

    async def send(self, text: str | None = "x", **more: Any) -> Any:
        return await self.client.chat_postMessage(channel=more.pop("channel", self.general.id), text=text, **more)

    async def update(self, text: str, **more: Any) -> Any:
        sent = await self.send()
        return await self.client.chat_update(channel=self.general.id, ts=sent["ts"], text=text, **more)

    async def open(self, view: Json, trigger: str = "") -> Any:
        return await self.client.views_open(trigger_id=trigger or self.slack.scene.trigger(self.ann), view=view)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with SlackServer(rates="off", limits=Limits(upload_bytes=2000)) as slack:
        yield await scene_of(slack)


async def scene_of(slack: SlackServer) -> Scene:
    ann, bob = slack.user("Ann"), slack.user("Bob")
    general = slack.channel("general", [ann])
    said = await ann.say("hi", general)
    return Scene(client=client_of(slack), slack=slack, ann=ann, bob=bob, general=general, said=said)


Act = Callable[[Scene], Awaitable[Any]]


def blocks(*found: Json) -> dict[str, Any]:
    return {"blocks": list(found)}


def section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def with_title(title: str) -> Json:
    return modal("") | {"title": plain(title)}


async def reply_to_whisper(s: Scene) -> None:
    whispered = await s.client.chat_postEphemeral(channel=s.general.id, user=s.ann.id, text="psst")
    await s.send(thread_ts=whispered["message_ts"])


async def update_whisper(s: Scene) -> None:
    whispered = await s.client.chat_postEphemeral(channel=s.general.id, user=s.ann.id, text="psst")
    await s.client.chat_update(channel=s.general.id, ts=whispered["message_ts"], text="louder")


async def open_late(s: Scene) -> None:
    trigger = s.slack.scene.trigger(s.ann)
    s.slack.clock.advance(3.5)
    await s.open(modal(""), trigger)


async def open_twice(s: Scene) -> None:
    trigger = s.slack.scene.trigger(s.ann)
    await s.open(modal(""), trigger)
    await s.open(modal(""), trigger)


async def push_fourth(s: Scene) -> None:
    await s.open(modal(""))
    for _ in range(3):
        await s.client.views_push(trigger_id=s.slack.scene.trigger(s.ann), view=modal(""))


async def upload_less(s: Scene) -> None:
    announced = await s.client.files_getUploadURLExternal(filename="a", length=3)
    async with httpx2.AsyncClient(trust_env=False) as http:
        await http.post(announced["upload_url"], content=b"ab")
    raise SlackRequestError("bytes, where 3 were announced")


async def download_without_token(s: Scene) -> None:
    sent = await s.ann.send_file("a.txt", b"abc", s.general)
    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.get(sent.files[0]["url_private_download"])
    assert answer.status_code == 200
    raise SlackRequestError(answer.text)


WRONG: dict[str, tuple[Act, str]] = {
    "empty text": (lambda s: s.send(" "), "no_text"),
    "no text at all": (lambda s: s.send(None), "no_text"),
    "text of an update": (lambda s: s.update("x" * 4001), "msg_too_long"),
    "51 blocks": (lambda s: s.send(**blocks(*[section("x")] * 51)), "no more than 50 items allowed"),
    "all block text": (lambda s: s.send(**blocks(*[section("x" * 2500)] * 5)), "msg_blocks_too_long"),
    "all block text of an update": (
        lambda s: s.update("x", **blocks(*[section("x" * 2500)] * 5)),
        "msg_blocks_too_long",
    ),
    "markdown_text beside text": (lambda s: s.send("x", markdown_text="y"), "markdown_text_conflict"),
    "attachments": (lambda s: s.send(attachments=[{"text": "x", "fallback": "x"}]), "invalid_attachments"),
    "unknown channel": (lambda s: s.send(channel="C0NOWHERE"), "channel_not_found"),
    "channel by name": (lambda s: s.send(channel="#general"), "channel_not_found"),
    "unknown thread": (lambda s: s.send(thread_ts="1700000000.000001"), "invalid_thread_ts"),
    "ts as a number": (lambda s: s.send(thread_ts=float(s.said.ts)), "invalid_thread_ts"),
    "thread under a whisper": (reply_to_whisper, "cannot_reply_to_message"),
    "whisper to nobody": (
        lambda s: s.client.chat_postEphemeral(channel=s.general.id, user="U0NOBODY", text="x"),
        "user_not_in_channel",
    ),
    "update of another's": (
        lambda s: s.client.chat_update(channel=s.general.id, ts=s.said.ts, text="x"),
        "cant_update_message",
    ),
    "update of a whisper": (update_whisper, "message_not_found"),
    "update of nothing": (
        lambda s: s.client.chat_update(channel=s.general.id, ts="1700000000.000001", text="x"),
        "message_not_found",
    ),
    "deletion of another's": (
        lambda s: s.client.chat_delete(channel=s.general.id, ts=s.said.ts),
        "cant_delete_message",
    ),
    "reaction": (
        lambda s: s.client.reactions_add(channel=s.general.id, timestamp=s.said.ts, name="👀"),
        "invalid_name",
    ),
    "unknown user": (lambda s: s.client.users_info(user="U0NOBODY"), "user_not_found"),
    "modal title": (lambda s: s.open(with_title("t" * 25)), "/view/title/text"),
    "large modal": (
        lambda s: s.open(modal("") | blocks(*[section("x" * 2600)] * 100)),
        "view_too_large",
    ),
    "unknown trigger": (lambda s: s.open(modal(""), "1.2.3"), "invalid_trigger_id"),
    "late trigger": (open_late, "expired_trigger_id"),
    "trigger twice": (open_twice, "exchanged_trigger_id"),
    "fourth modal": (push_fourth, "push_limit_reached"),
    "status outside a thread": (
        lambda s: s.client.assistant_threads_setStatus(channel_id=s.general.id, thread_ts="", status="x"),
        "invalid_thread_ts",
    ),
    "large file": (
        lambda s: s.client.files_getUploadURLExternal(filename="a", length=2001),
        "file_upload_size_restricted",
    ),
    "empty file": (
        lambda s: s.client.files_getUploadURLExternal(filename="a", length=0),
        "file_upload_size_restricted",
    ),
    "file never uploaded": (
        lambda s: s.client.files_completeUploadExternal(files=[{"id": "F0FILE0001"}]),
        "file_not_found",
    ),
    "upload of another size": (upload_less, "announced"),
    "download without a token": (download_without_token, "Sign in"),
    "page size": (lambda s: s.client.conversations_members(channel=s.general.id, limit=2000), "invalid_limit"),
    "unknown method": (lambda s: s.client.conversations_list(), "unknown_method"),
    "app's token": (lambda s: s.client.auth_test(token=s.slack.app_token), "not_allowed_token_type"),
    "bot's token": (lambda s: s.client.apps_connections_open(app_token=s.slack.bot_token), "not_allowed_token_type"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore:The top-level `text` argument is missing:UserWarning")
async def test_breaking_a_limit_is_refused_and_counted(scene: Scene, name: str) -> None:
    act, words = WRONG[name]
    with pytest.raises((SlackApiError, SlackRequestError)) as refused:
        await act(scene)
    assert words in str(refused.value)
    assert len(scene.slack.violations) == 1


COUNTED: dict[str, tuple[Act, str]] = {
    "text over 4,000": (lambda s: s.send("x" * 4001), "4001 characters, where Slack advises 4000"),
    "text over 40,000": (lambda s: s.send("x" * 40_001), "40001 characters, of which Slack keeps 40000"),
    "block text over 9,500": (lambda s: s.send(**blocks(*[section("x" * 2400)] * 4)), "9600 characters in all blocks"),
    "blocks without text": (lambda s: s.send(None, **blocks(section("x"))), "blocks without a text"),
    "bare <": (lambda s: s.send("a < b"), "unescaped '<'"),
    "bare &": (lambda s: s.send("a & b"), "unescaped '&'"),
    "bare & in a block": (lambda s: s.send("x", **blocks(section("a & b"))), "unescaped '&'"),
    "somebody's tag": (lambda s: s.send("<script>"), "unescaped '<'"),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.filterwarnings("ignore:The top-level `text` argument is missing:UserWarning")
async def test_what_slack_lets_pass_is_counted(scene: Scene, name: str) -> None:
    act, words = COUNTED[name]
    await act(scene)
    assert words in scene.slack.violations[0]


async def test_a_reply_as_thread_is_counted_and_put_into_its_thread(scene: Scene) -> None:
    reply = await scene.send(thread_ts=scene.said.ts)
    second = await scene.send(thread_ts=reply["ts"])
    assert second["message"]["thread_ts"] == scene.said.ts
    assert "thread_ts names a reply" in scene.slack.violations[0]


async def test_the_text_that_slack_cuts_is_cut(scene: Scene) -> None:
    sent = await scene.send("x" * 40_001)
    assert len(sent["message"]["text"]) == 40_000
    assert sent["response_metadata"]["warnings"] == ["message_truncated"]


async def test_the_longest_of_everything_passes(scene: Scene) -> None:
    await scene.send("x" * 4000)
    await scene.update("x" * 4000)
    await scene.send(**blocks(*[section("x")] * 50))
    await scene.send(**blocks({"type": "markdown", "text": "m & m < " + "m" * 9000}))
    await scene.send("&lt;3 &amp; <https://a.example|link> <@U0USER0001>\n> quoted")
    await scene.open(with_title("t" * 24))
    assert scene.slack.violations == []


async def updated_away(s: Scene) -> None:
    sent = await s.send()
    await s.client.chat_delete(channel=s.general.id, ts=sent["ts"])
    await s.client.chat_update(channel=s.general.id, ts=sent["ts"], text="y")


async def thread_gone(s: Scene) -> None:
    await s.ann.delete(s.said)
    await s.send(thread_ts=s.said.ts)


async def kicked(s: Scene) -> None:
    await s.ann.kick_bot(s.general)
    await s.send()


async def private_kicked(s: Scene) -> None:
    secret = s.slack.channel("secret", [s.ann], private=True, bot=False)
    await s.send(channel=secret.id)


async def archived(s: Scene) -> None:
    await s.ann.archive(s.general)
    await s.send()


async def whisper_to_absent(s: Scene) -> None:
    await s.client.chat_postEphemeral(channel=s.general.id, user=s.bob.id, text="x")


async def deactivated(s: Scene) -> None:
    s.bob.deactivated = True
    await s.client.conversations_open(users=[s.bob.id])


async def modal_closed(s: Scene) -> None:
    opened = await s.open(modal(""))
    await s.ann.close_modal()
    await s.client.views_update(view_id=opened["view"]["id"], view=modal(""))


async def modal_changed(s: Scene) -> None:
    opened = await s.open(modal(""))
    view_id, old = opened["view"]["id"], opened["view"]["hash"]
    await s.client.views_update(view_id=view_id, hash=old, view=modal(""))
    await s.client.views_update(view_id=view_id, hash=old, view=modal(""))


FACTS: dict[str, tuple[Act, str]] = {
    "message deleted": (updated_away, "message_not_found"),
    "thread deleted": (thread_gone, "thread_not_found"),
    "kicked": (kicked, "not_in_channel"),
    "private and not in it": (private_kicked, "channel_not_found"),
    "archived": (archived, "is_archived"),
    "whisper to who is not there": (whisper_to_absent, "user_not_in_channel"),
    "deactivated": (deactivated, "user_disabled"),
    "modal closed": (modal_closed, "not_found"),
    "modal changed": (modal_changed, "hash_conflict"),
}


@pytest.mark.parametrize("name", FACTS)
async def test_running_into_a_fact_is_refused_but_not_counted(scene: Scene, name: str) -> None:
    act, words = FACTS[name]
    with pytest.raises(SlackApiError, match=words):
        await act(scene)
    assert scene.slack.violations == []
    assert len(scene.slack.refusals) == 1


def granted(*scopes: str) -> Json:
    """The manifest of an app with these scopes alone."""
    features = {name: EXAMPLE["features"][name] for name in ("app_home", "bot_user")}
    return {
        "display_information": {"name": "Turnback"},
        "features": features,
        "oauth_config": {"scopes": {"bot": list(scopes)}},
        "settings": {"socket_mode_enabled": True},
    }


UNGRANTED: dict[str, tuple[Act, str]] = {
    "post": (lambda s: s.send(), "chat:write"),
    "people": (lambda s: s.client.users_info(user=s.ann.id), "users:read"),
    "channel": (lambda s: s.client.conversations_info(channel=s.general.id), "channels:read"),
    "direct chat": (lambda s: s.client.conversations_info(channel=s.ann.private.id), "im:read"),
    "thread": (lambda s: s.client.conversations_replies(channel=s.general.id, ts=s.said.ts), "channels:history"),
    "open": (lambda s: s.client.conversations_open(users=[s.ann.id]), "im:write"),
    "react": (lambda s: s.client.reactions_add(channel=s.general.id, timestamp=s.said.ts, name="x"), "reactions:write"),
    "upload": (lambda s: s.client.files_getUploadURLExternal(filename="a", length=1), "files:write"),
    "team": (lambda s: s.client.team_info(), "team:read"),
}


@pytest.mark.parametrize("name", UNGRANTED)
async def test_a_scope_that_the_manifest_lacks_is_missed(name: str) -> None:
    act, scope = UNGRANTED[name]
    async with SlackServer(manifest=granted("files:read")) as slack:
        scene = await scene_of(slack)
        with pytest.raises(SlackApiError) as refused:
            await act(scene)
        assert (refused.value.response["error"], refused.value.response["needed"]) == ("missing_scope", scope)
        assert "missing_scope" in slack.violations[0]


async def test_flooding_a_channel_is_counted(scene: Scene) -> None:
    scene.slack.rates.mode = "count"
    for _ in range(4):
        await scene.send()
    assert scene.slack.violations == ["chat.postMessage: over 1 message a second in one channel"]


async def test_flooding_a_channel_is_refused_where_asked_for(scene: Scene) -> None:
    scene.slack.rates.mode, scene.slack.rates.burst = "enforce", 1
    await scene.send()
    with pytest.raises(SlackApiError) as refused:
        await scene.send()
    assert refused.value.response.status_code == 429
    assert refused.value.response.headers["Retry-After"] == "1"
    scene.slack.clock.advance(1)
    await scene.send()


async def test_calling_a_method_too_often_is_counted_where_asked_for(scene: Scene) -> None:
    scene.slack.rates.methods = "enforce"
    sent = await scene.send()
    for number in range(50):
        await scene.client.chat_update(channel=scene.general.id, ts=sent["ts"], text=str(number))
    with pytest.raises(SlackApiError, match="ratelimited"):
        await scene.client.chat_update(channel=scene.general.id, ts=sent["ts"], text="more")
    assert scene.slack.violations == ["chat.update: over 50 calls a minute"]
