"""How values read on a page: times, sizes, names of places. Pure functions, for Jinja and for pages."""

from __future__ import annotations

from datetime import datetime, timedelta

from markupsafe import Markup

from turnback.core.models import Surface
from turnback.core.shapes import time_json
from turnback.core.text import counted, harmless

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

SURFACES = {
    Surface.TELEGRAM: "Telegram",
    Surface.DISCORD: "Discord",
    Surface.SLACK: "Slack",
    Surface.WEB: "the web",
    Surface.API: "the API",
    Surface.TERMINAL: "the terminal",
}

MARKS = {
    Surface.TELEGRAM: "tg",
    Surface.DISCORD: "dc",
    Surface.SLACK: "sl",
    Surface.WEB: "web",
    Surface.API: "key",
    Surface.TERMINAL: "cli",
}
"""The icon of each surface."""


def ago(at: datetime, now: datetime) -> str:
    """How long since `at`: `now`, `8 min`, `2 h`, `yesterday`, `5 days`, then the date."""
    seconds = (now - at).total_seconds()
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h"
    if seconds < 2 * _DAY:
        return "yesterday"
    if seconds < 7 * _DAY:
        return f"{int(seconds // _DAY)} days"
    return f"{at:%-d %b}" if at.year == now.year or now - at < timedelta(days=180) else f"{at:%-d %b %Y}"


def exactly(at: datetime) -> str:
    """`1 Mar 2026, 12:00:00 UTC`."""
    return f"{at:%-d %b %Y, %H:%M:%S} UTC"


def when(at: datetime, now: datetime) -> Markup:
    """A `time` element: how long ago, the exact time on hover. The page's script keeps it true."""
    words = f'<time datetime="{time_json(at)}" title="{exactly(at)}">{ago(at, now)}</time>'
    return Markup(words)  # noqa: S704 - digits and words of ours; escaping them again costs a long list much


def size(n: int) -> str:
    """`410 B`, `6.2 KB`, `32 MB`."""
    amount = float(n)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            shown = f"{amount:.1f}" if unit != "B" and amount < 10 else f"{amount:.0f}"
            return f"{shown.removesuffix('.0')} {unit}"
        amount /= 1024
    raise AssertionError


def line(text: str, limit: int = 200) -> Markup:
    """What somebody wrote as one line among our own words: nothing in it can turn the line around."""
    shown = " ".join(harmless(text).split())
    cut = shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"
    return Markup("<bdi>{}</bdi>").format(cut)


def title_text(text: str) -> str:
    """The same without markup, for a browser's tab."""
    return " ".join(harmless(text).split())[:200]


FILTERS = {
    "ago": ago,
    "counted": counted,
    "exactly": exactly,
    "line": line,
    "size": size,
    "time": time_json,
    "title_text": title_text,
    "when": when,
    "surface": lambda surface: SURFACES[surface],
    "surface_icon": lambda surface: MARKS[surface],
}
