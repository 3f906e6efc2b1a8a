"""The rules of Block Kit, of manifests and of text on the wire, as the simulated Slack knows them."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from platforms.core import Json
from platforms.slack import blocks as kit
from platforms.slack.echo import modal
from platforms.slack.manifest import EXAMPLE, manifest_problems, read_manifest
from platforms.slack.views import check_view
from platforms.slack.wire import decode, encode, pings, unescaped


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def section(text: str = "x", **more: Any) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def button(**more: Any) -> Json:
    return {"type": "button", "action_id": "a", "text": plain("b"), **more}


def menu(count: int, kind: str = "static_select", **more: Any) -> Json:
    return {"type": kind, "action_id": "m", "options": [{"text": plain("o"), "value": "v", **more}] * count}


def confirm(**more: Any) -> Json:
    return {"title": plain("t"), "text": plain("t"), "confirm": plain("y"), "deny": plain("n"), **more}


FORBIDDEN: dict[str, tuple[list[Json], str]] = {
    "blocks": ([section()] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    "section": ([section("x" * 3001)], "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
    "empty section": ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    "section of nothing": ([{"type": "section"}], "must define either `fields` or `text` [json-pointer:/blocks/0]"),
    "fields": ([section(fields=[plain("f")] * 11)], "no more than 10 items allowed [json-pointer:/blocks/0/fields]"),
    "field": ([section(fields=[plain("f" * 2001)])], "[json-pointer:/blocks/0/fields/0/text]"),
    "header": ([{"type": "header", "text": plain("h" * 151)}], "[json-pointer:/blocks/0/text/text]"),
    "header in mrkdwn": ([{"type": "header", "text": {"type": "mrkdwn", "text": "h"}}], "/blocks/0/text/type]"),
    "actions": ([actions(*[button(action_id=str(n)) for n in range(26)])], "[json-pointer:/blocks/0/elements]"),
    "no actions": ([actions()], "must be more than 0 items [json-pointer:/blocks/0/elements]"),
    "context": ([{"type": "context", "elements": [plain("c")] * 11}], "[json-pointer:/blocks/0/elements]"),
    "button text": ([actions(button(text=plain("b" * 76)))], "/blocks/0/elements/0/text/text]"),
    "button in mrkdwn": ([actions(button(text={"type": "mrkdwn", "text": "b"}))], "/elements/0/text/type]"),
    "button without text": ([actions(button(text=None))], "missing required field"),
    "button value": ([actions(button(value="v" * 2001))], "/elements/0/value]"),
    "button url": ([actions(button(url="u" * 3001))], "/elements/0/url]"),
    "button style": ([actions(button(style="loud"))], "/elements/0/style]"),
    "button as accessory": ([section(accessory=button(text=plain("b" * 76)))], "/blocks/0/accessory/0/text/text]"),
    "action_id": ([actions(button(action_id="a" * 256))], "/elements/0/action_id]"),
    "action_id twice": ([actions(button(), button())], "already exists for another element"),
    "block_id": ([section(block_id="b" * 256)], "/blocks/0/block_id]"),
    "block_id twice": ([section(block_id="b"), section(block_id="b")], "[json-pointer:/blocks/1/block_id]"),
    "confirm title": ([actions(button(confirm=confirm(title=plain("t" * 101))))], "/confirm/title/text]"),
    "confirm text": ([actions(button(confirm=confirm(text=plain("t" * 301))))], "/confirm/text/text]"),
    "options": ([actions(menu(101))], "no more than 100 items allowed"),
    "no options": ([actions(menu(0))], "must be more than 0 items"),
    "overflow": ([actions(menu(6, "overflow"))], "no more than 5 items allowed"),
    "option text": ([actions(menu(1, text=plain("o" * 76)))], "/options/0/text/text]"),
    "option value": ([actions(menu(1, value="v" * 151))], "/options/0/value]"),
    "option description": ([actions(menu(1, description=plain("d" * 76)))], "/options/0/description/text]"),
    "initial option": ([actions(menu(1) | {"initial_option": {"value": "other"}})], "/initial_option]"),
    "placeholder": ([actions(menu(1) | {"placeholder": plain("p" * 151)})], "/placeholder/text]"),
    "markdown": ([{"type": "markdown", "text": "m" * 12_001}], "must be less than 12001 characters"),
    "markdown in all": ([{"type": "markdown", "text": "m" * 7000}] * 2, "in all markdown blocks"),
    "unknown block": ([{"type": "carousel"}], "unsupported type: carousel [json-pointer:/blocks/0/type]"),
    "unknown element": ([actions({"type": "datepicker"})], "unsupported type: datepicker"),
    "input in a message": (modal("")["blocks"], "unsupported type: input"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_block_over_a_limit_is_named(name: str) -> None:
    blocks, words = FORBIDDEN[name]
    problems = kit.Problems()
    kit.check_blocks(blocks, problems)
    assert any(words in sentence for sentence in problems.sentences), problems.sentences


def test_blocks_within_the_limits_pass() -> None:
    blocks = [
        section("x" * 3000, fields=[plain("f" * 2000)] * 10),
        {"type": "header", "text": plain("h" * 150)},
        {"type": "divider"},
        {"type": "context", "elements": [plain("c")] * 10},
        {"type": "markdown", "text": "m" * 12_000},
        actions(button(text=plain("b" * 75), value="v" * 2000, style="danger", confirm=confirm()), menu(100)),
        section(accessory=menu(5, "overflow")),
    ]
    problems = kit.Problems()
    kit.check_blocks(blocks, problems)
    assert problems.sentences == []


MODALS: dict[str, tuple[Json, str]] = {
    "kind": ({"type": "home"}, "/view/type]"),
    "title": ({"title": plain("t" * 25)}, "/view/title/text]"),
    "submit": ({"submit": plain("s" * 25)}, "/view/submit/text]"),
    "no submit": ({"submit": None}, "missing required field: submit"),
    "metadata": ({"private_metadata": "m" * 3001}, "/view/private_metadata]"),
    "callback_id": ({"callback_id": "c" * 256}, "/view/callback_id]"),
    "blocks": ({"blocks": [section()] * 101}, "no more than 100 items allowed"),
    "markdown": ({"blocks": [{"type": "markdown", "text": "m"}]}, "unsupported type: markdown"),
}


@pytest.mark.parametrize("name", MODALS)
def test_a_modal_over_a_limit_is_named(name: str) -> None:
    change, words = MODALS[name]
    assert check_view(modal("")) == []
    assert any(words in sentence for sentence in check_view(modal("") | change))


def changed(path: str, value: Any) -> Json:
    """The example manifest with another value at a path."""
    manifest = copy.deepcopy(EXAMPLE)
    *parents, last = path.split(".")
    inside: Any = manifest
    for name in parents:
        inside = inside[int(name)] if isinstance(inside, list) else inside[name]
    inside[last] = value
    return manifest


MANIFESTS: dict[str, tuple[str, Any, str]] = {
    "name": ("display_information.name", "n" * 36, "display_information.name must have 1 to 35"),
    "command": ("features.slash_commands.0.command", "Replay", "no name of a slash command"),
    "command without description": ("features.slash_commands.0.description", "", "the description of /replay"),
    "command twice": ("features.slash_commands.0.command", "/fork", "the command /fork twice"),
    "shortcut": ("features.shortcuts.0.name", "s" * 25, "a shortcut's name must have 1 to 24"),
    "shortcut kind": ("features.shortcuts.0.type", "channel", "a shortcut of the type 'channel'"),
    "scope": ("oauth_config.scopes.bot", ["commands", "everything"], "unknown scope everything"),
    "scope of an event": ("oauth_config.scopes.bot", ["commands"], "message.im needs the scope im:history"),
    "event": ("settings.event_subscriptions.bot_events", ["gone"], "unknown event gone"),
    "interactivity": ("settings.interactivity.is_enabled", False, "shortcuts need interactivity"),
    "command without url": ("settings.socket_mode_enabled", False, "/replay needs a url without Socket Mode"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_slack_refuses_is_named(name: str) -> None:
    path, value, words = MANIFESTS[name]
    assert manifest_problems(EXAMPLE) == []
    assert any(words in sentence for sentence in manifest_problems(changed(path, value)))
    with pytest.raises(ValueError, match=re.escape(words)):
        read_manifest(changed(path, value))


NAMES = {"U1": "ann", "C1": "general"}


@pytest.mark.parametrize(
    ("typed", "wire"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("@ann in #general", "<@U1> in <#C1|general>"),
        ("@anna is another", "@anna is another"),
        ("see (https://a.example/b_c).", "see (<https://a.example/b_c>)."),
        ("run main.py now", "run <http://main.py|main.py> now"),
        ("to ana@example.org", "to <mailto:ana@example.org|ana@example.org>"),
        ("`main.py <x>`", "`main.py &lt;x&gt;`"),
        ("3fa9c1d2 1.5 a.b", "3fa9c1d2 1.5 a.b"),
    ],
)
def test_typed_text_is_encoded_and_read_back(typed: str, wire: str) -> None:
    assert encode(typed, NAMES) == wire
    assert decode(wire, NAMES) == typed


def test_a_command_that_escapes_names_whom_it_mentions() -> None:
    assert encode("@ann", NAMES, named=True) == "<@U1|ann>"


def test_whom_a_text_calls_is_found() -> None:
    assert pings("<@U1> <!here> <!subteam^S1> <#C1> <!date^1^{date}|d> &lt;!channel&gt;") == {"U1", "here", "subteam"}


def test_only_what_is_no_reference_must_be_escaped() -> None:
    assert unescaped("&lt;x&gt; &amp; <@U1> <https://a.example|a>\n> quoted") == []
    assert len(unescaped("a < b > c & d")) == 3
