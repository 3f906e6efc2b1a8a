"""What a message may be: its text, embeds, files and mentions.

https://docs.discord.com/developers/resources/message. Lengths count code points.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from platforms.core import Json
from platforms.discord.components import check_components
from platforms.discord.refusals import Path, Problems, wrong

CONTENT_LIMIT = 2000
EMBEDS_LIMIT = 10
EMBED_TOTAL_LIMIT = 6000
FILES_LIMIT = 10
MENTIONS_LIMIT = 100

EPHEMERAL = 1 << 6
LOADING = 1 << 7
COMPONENTS_V2 = 1 << 15

_URL = re.compile(r"(https?|attachment)://\S+")


def check_message(body: Json, files: Mapping[str, bytes]) -> None:
    """Refuse with 50035 what breaks a limit."""
    if (body.get("flags") or 0) & COMPONENTS_V2:
        raise wrong(50035, "components of version 2 are not simulated; add them here knowingly")
    problems = Problems()
    problems.length(("content",), body.get("content"), 0, CONTENT_LIMIT)
    _check_embeds(body.get("embeds") or [], problems)
    check_components(body.get("components") or [], problems)
    if len(files) > FILES_LIMIT:
        problems.add(("attachments",), "BASE_TYPE_MAX_LENGTH", f"Must be {FILES_LIMIT} or fewer in length.")
    _check_mentions(body.get("allowed_mentions") or {}, problems)
    problems.refuse()


def _check_embeds(embeds: list[Json], problems: Problems) -> None:
    problems.length(("embeds",), embeds, 0, EMBEDS_LIMIT)
    if sum(_check_embed(embed, ("embeds", i), problems) for i, embed in enumerate(embeds)) > EMBED_TOTAL_LIMIT:
        text = f"Embed size exceeds maximum size of {EMBED_TOTAL_LIMIT}"
        problems.add(("embeds",), "MAX_EMBED_SIZE_EXCEEDED", text)


def _check_embed(embed: Json, path: Path, problems: Problems) -> int:
    """The number of its characters."""
    texts = [
        (("title",), embed.get("title"), 0, 256),
        (("description",), embed.get("description"), 0, 4096),
        (("footer", "text"), (embed.get("footer") or {}).get("text"), 0, 2048),
        (("author", "name"), (embed.get("author") or {}).get("name"), 0, 256),
    ]
    fields = embed.get("fields") or []
    problems.length((*path, "fields"), fields, 0, 25)
    for i, field in enumerate(fields):
        texts.append((("fields", str(i), "name"), field.get("name"), 1, 256))
        texts.append((("fields", str(i), "value"), field.get("value"), 1, 1024))
    for where, text, low, high in texts:
        problems.length((*path, *where), text, low, high)
    if embed.get("url") and not _URL.match(embed["url"]):
        problems.add((*path, "url"), "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    return sum(len(text or "") for _, text, _, _ in texts)


def _check_mentions(allowed: Json, problems: Problems) -> None:
    for key in ("users", "roles"):
        named: list[Any] = allowed.get(key) or []
        problems.length(("allowed_mentions", key), named, 0, MENTIONS_LIMIT)
        if named and key in (allowed.get("parse") or []):
            text = f'parse:["{key}"] and {key}: [ids...] are mutually exclusive.'
            problems.add(("allowed_mentions",), "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", text)
    for kind in allowed.get("parse") or []:
        problems.choice(("allowed_mentions", "parse"), kind, ("roles", "users", "everyone"))
