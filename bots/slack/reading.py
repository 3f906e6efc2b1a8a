"""What Slack tells: which of it is for us, where it was said, by whom, and in which words. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from turnback.bots.commands import NotACommand, NotForUs, asked_for
from turnback.bots.grammar import parse
from turnback.bots.slack.buttons import OURS, asks, pressed
from turnback.bots.slack.directory import Me
from turnback.bots.slack.keys import Spot
from turnback.bots.slack.wire import mention_of, readable

Kind = Literal["event", "command", "interaction"]
Json = Mapping[str, Any]

SHORTCUTS = {f"{OURS}rewind": "/replay restore", f"{OURS}fork": "/fork"}
"""The shortcuts of a message, and what they mean under it."""

FORM = f"{OURS}word"
"""The modal that asks for a command's last word, and the field in it."""

SECRETS = ("response_url", "response_urls", "trigger_id", "token", "bot_access_token")
"""What a payload is not kept with."""

LEFT = ("member_left_channel", "channel_left", "group_left")
"""Somebody is no more in a channel; the last two: we are not."""

_SUBTYPES = (None, "file_share", "thread_broadcast", "me_message")
"""Messages that somebody wrote just now. Changed and deleted ones start nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Something that is for us; or that `user` is no more in a channel (`left`).

    `text` is a message, or the command of a press; `message` the ts of what was written, or under which was
    pressed. `doubtful`: it was said in a thread without naming us. `perhaps`: in a thread of its own, if
    that is a place. `asks`: the command lacks its last word.
    """

    kind: Literal["message", "command", "press", "shortcut", "left"]
    spot: Spot
    user: str
    team: str
    text: str
    at: datetime | None = None
    message: str = ""
    addressed: bool = True
    mentioned: bool = False
    doubtful: bool = False
    perhaps: Spot | None = None
    asks: bool = False
    label: str = ""
    files: tuple[Json, ...] = ()


def claim_key(kind: Kind, body: Json) -> str | None:
    """What something is known by, however often it comes. The same message may come with several event ids."""
    if kind == "command":
        return f"{body.get('team_id')}:{body.get('trigger_id')}"
    if kind == "interaction":
        return f"{_team(body)}:{body.get('trigger_id')}"
    event = body.get("event") or {}
    if event.get("ts") and event.get("channel"):
        return f"{_team(body)}:{event['channel']}:{event['ts']}"
    return f"{_team(body)}:{body.get('event_id')}" if body.get("event_id") else None


def kept(body: Json) -> dict[str, Any]:
    """A payload without what lets others answer in our name."""
    return {name: value for name, value in body.items() if name not in SECRETS}


def hear(kind: Kind, body: Json, me: Me, is_allowed: Callable[[str], bool] = lambda _: False) -> Heard | None:
    """Whether something is for us. Of bots only those that `is_allowed` names."""
    if kind == "event":
        return hear_left(body, me) or hear_message(body, me, is_allowed)
    return hear_command(body, me) if kind == "command" else hear_interaction(body, me)


def hear_message(body: Json, me: Me, is_allowed: Callable[[str], bool]) -> Heard | None:
    """A message, as `message` or `app_mention` tells of it."""
    event = body.get("event") or {}
    user = str(event.get("user") or event.get("bot_id") or "")
    if event.get("type") not in ("message", "app_mention") or event.get("subtype") not in (*_SUBTYPES, "bot_message"):
        return None
    if not user or user == me.user or event.get("bot_id") == me.bot or not event.get("ts") or event.get("hidden"):
        return None
    if (event.get("bot_id") or event.get("subtype") == "bot_message") and not is_allowed(user):
        return None
    channel, ts, thread = str(event["channel"]), str(event["ts"]), event.get("thread_ts")
    direct = channel.startswith("D")
    raw = str(event.get("text") or "")
    words, mentioned = _without_mention(raw, me)
    text, files = readable(words).strip(), tuple(event.get("files") or ())
    if mentioned and not text and not files:
        text = "/help"
    addressed = direct or mention_of(me.user).search(raw) is not None or event["type"] == "app_mention"
    command = not addressed and thread is not None and _is_command(text)
    if not (text or files) or not (addressed or command or thread):
        return None
    return Heard(
        kind="message",
        spot=Spot(_team(body), channel, str(thread or ts) if thread or not direct else None),
        user=user,
        team=str(event.get("user_team") or event.get("team") or _team(body)),
        text=text,
        at=_time(ts),
        message=ts,
        addressed=addressed,
        mentioned=mentioned,
        doubtful=not addressed and not command,
        files=files,
    )


def hear_left(body: Json, me: Me) -> Heard | None:
    """Who is no more in a channel."""
    event = body.get("event") or {}
    if event.get("type") not in LEFT or not event.get("channel"):
        return None
    team = str(event.get("team") or _team(body))
    return Heard(
        kind="left",
        spot=Spot(_team(body), str(event["channel"])),
        user=str(event.get("user") or me.user),
        team=team,
        text="",
    )


def hear_command(body: Json, me: Me) -> Heard | None:
    """A slash command. It names no thread, so it is about its channel's own conversation."""
    word, channel = str(body.get("command") or ""), str(body.get("channel_id") or "")
    if not word or not channel:
        return None
    team = str(body.get("team_id") or me.team)
    text = f"{word} {readable(str(body.get('text') or ''))}".strip()
    return Heard(kind="command", spot=Spot(team, channel), user=str(body.get("user_id")), team=team, text=text)


def hear_interaction(body: Json, me: Me) -> Heard | None:
    """A press, a choice, a shortcut, or a word that was asked for."""
    match body.get("type"):
        case "block_actions":
            return _hear_press(body, me)
        case "message_action":
            return _hear_shortcut(body, me)
        case "view_submission":
            return _hear_word(body, me)
    return None


def form(heard: Heard) -> dict[str, Any]:
    """The modal that asks for the last word of a command."""
    title, asked = (heard.label or "Go on")[:24], asked_for(heard.text)
    where = {"command": heard.text, "spot": [heard.spot.team, heard.spot.channel, heard.spot.thread]}
    field = {"type": "plain_text_input", "action_id": FORM, "max_length": 100}
    return {
        "type": "modal",
        "callback_id": FORM,
        "private_metadata": json.dumps({**where, "message": heard.message}),
        "title": {"type": "plain_text", "text": title},
        "submit": {"type": "plain_text", "text": "OK"},
        "close": {"type": "plain_text", "text": "Cancel"},
        "blocks": [
            {"type": "input", "block_id": FORM, "label": {"type": "plain_text", "text": asked}, "element": field}
        ],
    }


def _hear_press(body: Json, me: Me) -> Heard | None:
    action = (body.get("actions") or [{}])[0]
    command, channel = pressed(action), (body.get("channel") or {}).get("id")
    if command is None or not channel:
        return None
    container, message = body.get("container") or {}, body.get("message") or {}
    thread = container.get("thread_ts") or message.get("thread_ts")
    return Heard(
        kind="press",
        spot=Spot(_team(body) or me.team, str(channel), str(thread) if thread else None),
        user=_user(body),
        team=_users_team(body),
        text=command,
        message="" if container.get("is_ephemeral") else str(container.get("message_ts") or message.get("ts") or ""),
        asks=asks(action),
        label=str((action.get("text") or {}).get("text") or ""),
    )


def _hear_shortcut(body: Json, me: Me) -> Heard | None:
    command, message = SHORTCUTS.get(str(body.get("callback_id"))), body.get("message") or {}
    channel, ts = (body.get("channel") or {}).get("id"), body.get("message_ts") or message.get("ts")
    if command is None or not channel or not ts:
        return None
    team, thread = _team(body) or me.team, message.get("thread_ts")
    return Heard(
        kind="shortcut",
        spot=Spot(team, str(channel), str(thread) if thread else None),
        perhaps=None if thread else Spot(team, str(channel), str(ts)),
        user=_user(body),
        team=_users_team(body),
        text=command,
        message=str(ts),
    )


def _hear_word(body: Json, me: Me) -> Heard | None:
    view = body.get("view") or {}
    if view.get("callback_id") != FORM:
        return None
    try:
        where = json.loads(view.get("private_metadata") or "{}")
        team, channel, thread = where["spot"]
        word = view["state"]["values"][FORM][FORM]["value"] or ""
    except (ValueError, KeyError, TypeError):
        return None
    return Heard(
        kind="press",
        spot=Spot(team or me.team, channel, thread),
        user=_user(body),
        team=_users_team(body),
        text=f"{where['command']} {' '.join(word.split())}",
        message=str(where.get("message") or ""),
    )


def _without_mention(text: str, me: Me) -> tuple[str, bool]:
    found = mention_of(me.user).match(text.lstrip())
    return (text.lstrip()[found.end() :].lstrip(" ,:\n\t\u00a0"), True) if found else (text, False)


def _is_command(text: str) -> bool:
    return text.startswith(("!", "/")) and not isinstance(parse(text, bang=True), NotACommand | NotForUs)


def _team(body: Json) -> str:
    team = body.get("team")
    return str(body.get("team_id") or (team.get("id") if isinstance(team, Mapping) else "") or "")


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


def _users_team(body: Json) -> str:
    return str((body.get("user") or {}).get("team_id") or _team(body))


def _time(ts: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return None
