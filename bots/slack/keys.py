"""Places of Slack and their keys: team and channel, and behind another slash the thread where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from turnback.bots.capabilities import Capabilities
from turnback.bots.places import Place
from turnback.core.models import Surface

TEXT_LIMIT = 6000
"""Characters of one message's text. Slack takes about 12,000 in all blocks, and refuses some messages over 9,500
(https://github.com/slackapi/bolt-js/issues/2509); buttons count, too.
"""

_CAN = Capabilities(max_text=TEXT_LIMIT, side_places=True)
_CHANNEL = Capabilities(max_text=TEXT_LIMIT, side_places=True, talks_beside=True)


@dataclass(frozen=True, slots=True)
class Spot:
    """A channel of a team, and the thread in it (its first message's ts; a text, however it looks)."""

    team: str
    channel: str
    thread: str | None = None

    @property
    def key(self) -> str:
        """The key of the place."""
        return "/".join(part for part in (self.team, self.channel, self.thread) if part)

    @property
    def is_group(self) -> bool:
        """Direct chats with one person have ids that begin with D."""
        return not self.channel.startswith("D")


def spot_of(key: str) -> Spot:
    """The spot that a key names. ValueError for what is no key of ours."""
    team, slash, rest = key.partition("/")
    channel, _, thread = rest.partition("/")
    if not slash or not team or not channel:
        raise ValueError(f"{key!r} is no place of Slack")
    return Spot(team, channel, thread or None)


def place_at(spot: Spot) -> Place:
    """The place that the chat layer knows it as."""
    can = _CHANNEL if spot.is_group and spot.thread is None else _CAN
    return Place(surface=Surface.SLACK, key=spot.key, group=spot.is_group, can=can)


def user_key(team: str, user: str) -> str:
    """A user's key: ids are unique in their team only."""
    return f"{team}:{user}"
