"""Text as it travels: what Slack escapes and links, and what an app must have escaped.

https://docs.slack.dev/messaging/formatting-message-text: `&`, `<` and `>` are control characters; `<@U1>`,
`<#C1>`, `<!here>` and `<https://a.example|words>` are references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(
    r"<(@[UW][A-Z0-9]+|#C[A-Z0-9]+|!(?:here|channel|everyone|subteam\^\w+|date\^[^>|]+)|(?:https?|mailto|tel|slack):[^>|\s]*)"
    r"(\|[^>]*)?>"
)
_LINKED = re.compile(
    r"(?P<mail>[\w.+-]+@[\w-]+\.[\w.]+\w)"
    r"|(?P<url>https?://[^\s<>`]*[^\s<>`.,;:!?)'\"])"
    r"|(?P<name>\b(?:[\w-]+\.)+(?:com|org|net|io|dev|py|rs|sh|md|ai|app|co)\b(?:/[^\s<>`]*)?)"
)
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_QUOTE_MARK = re.compile(r"(?m)^>+\s?")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def encode(text: str, names: Mapping[str, str], *, named: bool = False) -> str:
    """What Slack makes of typed text. `names` are those of people and channels by id; `named` adds them to mentions."""
    parts = _CODE.split(text)
    return "".join(escape(part) if _CODE.fullmatch(part) else _encode_prose(part, names, named) for part in parts)


def decode(text: str, names: Mapping[str, str]) -> str:
    """What people read."""

    def words(found: re.Match[str]) -> str:
        reference, label = found[1], found[2]
        if label and reference[0] not in "@#":
            return label[1:]
        if reference[0] in "@#":
            return reference[0] + names.get(reference[1:], reference[1:])
        return "@" + reference[1:].partition("^")[0] if reference[0] == "!" else reference

    return unescape(_REFERENCE.sub(words, text))


def pings(text: str) -> set[str]:
    """Whom a text calls: ids of people, and "here", "channel", "everyone"."""
    called = (found[1] for found in _REFERENCE.finditer(text))
    return {reference[1:].partition("^")[0] for reference in called if reference[0] in "@!"} - {"date"}


def unescaped(text: str) -> list[str]:
    """A sentence for each control character that should have been escaped: Slack guesses what it means."""
    rest = _QUOTE_MARK.sub("", _REFERENCE.sub("", text))
    bad = [char for char in "<>" if char in rest]
    if re.search(r"&(?!amp;|lt;|gt;)", rest):
        bad.append("&")
    return [f"unescaped {char!r} in {text[:60]!r}" for char in bad]


def _encode_prose(text: str, names: Mapping[str, str], named: bool) -> str:
    encoded = _LINKED.sub(_link, escape(text))
    for each, name in names.items():
        if each[0] == "U":
            encoded = _mention(encoded, f"@{name}", f"<@{each}|{name}>" if named else f"<@{each}>")
        elif each[0] == "C":
            encoded = _mention(encoded, f"#{name}", f"<#{each}|{name}>")
    return encoded


def _mention(text: str, typed: str, reference: str) -> str:
    replace: Callable[[re.Match[str]], str] = lambda _: reference  # noqa: E731
    return re.sub(rf"(?<![\w|]){re.escape(typed)}\b", replace, text)


def _link(found: re.Match[str]) -> str:
    text = found[0]
    if found["mail"]:
        return f"<mailto:{text}|{text}>"
    return f"<{text}>" if found["url"] else f"<http://{text}|{text}>"
