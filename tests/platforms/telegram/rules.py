"""The Bot API's limits on what a bot sends, as checks on values. Each refuses in the server's own words.

Texts count after their markup is read, in UTF-16 units: the documented reading, and the stricter one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from platforms.core import Json, utf16_len
from platforms.telegram.entities import ParseError, problem, trimmed, with_found
from platforms.telegram.html import parse_html
from platforms.telegram.markdown import parse_markdown
from platforms.telegram.refusals import Refused, wrong

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
RAW_BYTES = 32 << 10
ENTITIES_KEPT = 100
CALLBACK_DATA_BYTES = 64
CALLBACK_ANSWER_LIMIT = 200
ROW_BUTTONS = 8
ALL_BUTTONS = 100
MARKUP_BYTES = 10 << 10
COMMANDS = 100
COMMANDS_BYTES = 4 << 10
TOPIC_NAME_LIMIT = 128

_ACTIONS = (
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)
_REACTIONS = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 "
    "🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 "
    "🙉 🦄 😘 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡"
)
_BUTTON_KINDS = (
    "url callback_data web_app login_url switch_inline_query switch_inline_query_current_chat "
    "switch_inline_query_chosen_chat copy_text callback_game pay"
)
ACTIONS = frozenset(_ACTIONS.split())
REACTIONS = frozenset(_REACTIONS.split())
BUTTON_KINDS = frozenset(_BUTTON_KINDS.split())

_PARSERS = {"markdownv2": parse_markdown, "html": parse_html}
_WEB_ADDRESS = re.compile(r"(?:https?://)?[^\s/:?#]+\.[^\s/:?#]+(?::\d+)?(?:[/?#]\S*)?|tg://\S+")


def read_text(raw: str, parse_mode: str, entities: object, *, limit: int, violations: list[str]) -> Json:
    """The text as people see it, and its entities: {"text": …, "entities": […]}."""
    caption = limit == CAPTION_LIMIT
    if not raw and not caption:
        raise wrong("message text is empty")
    if len(raw.encode()) > RAW_BYTES:
        raise wrong("text is too long")
    text, marked = _parsed(raw, parse_mode, entities)
    if not text.strip() and not caption:
        raise wrong("text must be non-empty")
    if utf16_len(text) > limit:
        raise wrong("message caption is too long" if caption else "message is too long")
    if len(marked) > ENTITIES_KEPT:
        violations.append(f"{len(marked)} entities, of which Telegram keeps {ENTITIES_KEPT}")
        marked = marked[:ENTITIES_KEPT]
    text, marked = trimmed(text, marked)
    return {"text": text, "entities": with_found(text, marked)}


def check_markup(markup: object, *, inline_only: bool, violations: list[str]) -> list[list[Json]]:
    """The rows of an inline keyboard; none for the other kinds."""
    if not markup:
        return []
    if not isinstance(markup, dict):
        raise wrong("object expected as reply markup")
    if "inline_keyboard" not in markup:
        if inline_only or not markup.keys() & {"keyboard", "remove_keyboard", "force_reply"}:
            raise wrong("inline keyboard expected")
        return []
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise wrong('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    buttons = [button for row in rows for button in row]
    for button in buttons:
        _check_button(button)
    if len(str(markup).encode()) > MARKUP_BYTES:
        raise wrong("reply markup is too long")
    if len(buttons) > ALL_BUTTONS or any(len(row) > ROW_BUTTONS for row in rows):
        violations.append(f"over {ROW_BUTTONS} buttons in a row or {ALL_BUTTONS} in all: clients drop the rest")
    return [row for row in rows if row]


def check_commands(commands: object) -> list[Json]:
    """The commands of one setMyCommands."""
    if not isinstance(commands, list):
        raise wrong("can't parse list of bot commands")
    if len(commands) > COMMANDS:
        raise wrong("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        _check_command(str(command.get("command", "")), str(command.get("description", "")))
    if sum(len(str(part).encode()) for command in commands for part in command.values()) > COMMANDS_BYTES:
        raise wrong("BOT_COMMANDS_TOO_MUCH: over 4 KB in all")
    return commands


def check_topic_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise wrong("topic name must be non-empty")
    if utf16_len(name) > TOPIC_NAME_LIMIT:
        raise wrong("topic name is too long")
    return name


def check_reactions(reactions: object) -> list[str]:
    """The emoji of a setMessageReaction: a bot may set one."""
    if not isinstance(reactions, list):
        raise wrong("can't parse reactions")
    if len(reactions) > 1:
        raise wrong("REACTIONS_TOO_MANY")
    emoji = [str(reaction.get("emoji", "")).replace("\ufe0f", "") for reaction in reactions]
    if not REACTIONS.issuperset(emoji):
        raise wrong("REACTION_INVALID")
    return emoji


def check_webhook(url: str, secret: str) -> None:
    """HTTPS on one of four ports, as Telegram's own server wants it; loopback is free, as for a local one."""
    match = re.match(r"(https?)://([^/:]+)(?::(\d+))?", url)
    if not match:
        raise wrong("bad webhook: URL must be absolute")
    scheme, host, port = match.groups()
    loopback = host in ("127.0.0.1", "localhost")
    if scheme != "https" and not loopback:
        raise wrong("bad webhook: An HTTPS URL must be provided for webhook")
    if port and not loopback and int(port) not in (443, 80, 88, 8443):
        raise wrong("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", secret):
        raise wrong("secret token contains unallowed characters or is too long")


def _parsed(raw: str, parse_mode: str, entities: object) -> tuple[str, Sequence[Json]]:
    if parse_mode:
        parser = _PARSERS.get(parse_mode.lower())
        if parser is None:
            raise wrong("unsupported parse_mode")
        try:
            return parser(raw)
        except ParseError as error:
            raise wrong(f"can't parse entities: {error}") from None
    if not entities:
        return raw, []
    if sentence := problem(raw, entities):
        raise wrong(sentence)
    assert isinstance(entities, list)
    return raw, entities


def _check_button(button: object) -> None:
    if not isinstance(button, Mapping):
        raise _bad_button("expected an Object")
    if not str(button.get("text", "")).strip():
        raise _bad_button("inline keyboard button text must be non-empty")
    kinds = button.keys() & BUTTON_KINDS
    if not kinds:
        raise _bad_button("Text buttons are unallowed in the inline keyboard")
    if len(kinds) > 1:
        raise _bad_button(f"exactly one of the optional fields must be used, not {', '.join(sorted(kinds))}")
    if "callback_data" in kinds and not 1 <= len(str(button["callback_data"]).encode()) <= CALLBACK_DATA_BYTES:
        raise wrong("BUTTON_DATA_INVALID")
    if "url" in kinds and not _WEB_ADDRESS.fullmatch(str(button["url"])):
        raise wrong(f"inline keyboard button URL '{button['url']}' is invalid: Wrong HTTP URL")


def _bad_button(text: str) -> Refused:
    return wrong(f"can't parse inline keyboard button: {text}")


def _check_command(name: str, description: str) -> None:
    if not re.fullmatch(r"[a-z0-9_]{1,32}", name.removeprefix("/")):
        raise wrong("BOT_COMMAND_INVALID")
    if not description.strip():
        raise wrong("command description must be non-empty")
    if utf16_len(description) > 256:
        raise wrong("command description length must not exceed 256")
