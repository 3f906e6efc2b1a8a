"""Text as it travels: what Slack escapes and wraps, undone; and our own, escaped.

https://docs.slack.dev/messaging/formatting-message-text: `&`, `<` and `>` are control characters, and links
and mentions come as `<…>` or `<…|label>`.
"""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_PING = re.compile("<(?=[!@#])")


def readable(text: str) -> str:
    """What somebody typed: links are their labels or addresses, and mentions keep their names or ids."""
    return unescaped(_REFERENCE.sub(_unwrapped, text))


def unescaped(text: str) -> str:
    """Text without Slack's escapes."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escaped(text: str) -> str:
    """Text that says no more than it shows."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def calm(markdown: str) -> str:
    """Markdown that calls nobody: `<!channel>` is words, though an agent says it."""
    return _PING.sub("<\u200b", markdown)


def mention_of(user: str) -> re.Pattern[str]:
    """Finds a mention of somebody."""
    return re.compile(rf"<@{re.escape(user)}(?:\|[^<>]*)?>")


def _unwrapped(found: re.Match[str]) -> str:
    target, label = found[1], found[2]
    if target.startswith(("@", "#")):
        return f"{target[0]}{label.removeprefix(target[0])}" if label else found[0]
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    return label or target.removeprefix("mailto:").removeprefix("tel:")
