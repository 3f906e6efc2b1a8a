"""Who is who in a workspace: ourselves, people's names and rights, and who writes in a thread. Asked for, then kept
for a while.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from turnback.bots.slack.keys import Spot
from turnback.bots.slack.trouble import NETWORK

RIGHTS_SECONDS = 60.0
"""How long we go by what Slack said of somebody's rights."""

NAME_SECONDS = 600.0

LOOK_SECONDS = 5.0
"""How long anybody waits for a name; without it their id will do."""

_KEPT = 4096
_REPLIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The bot as its workspace knows it."""

    team: str
    user: str
    bot: str
    name: str


async def who_am_i(client: AsyncWebClient) -> Me:
    """Ask Slack. SlackApiError where it refuses the token."""
    said = await client.auth_test()
    return Me(team=said["team_id"], user=said["user_id"], bot=said.get("bot_id") or "", name=said.get("user") or "")


class Directory:
    """What we asked, and when."""

    def __init__(self, client: AsyncWebClient, me: Me) -> None:
        self.me = me
        self._client = client
        self._users: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()
        self._creators: OrderedDict[str, str] = OrderedDict()
        self._writers: OrderedDict[str, set[str]] = OrderedDict()

    async def name(self, user: str) -> str:
        """What somebody is called; their id where Slack does not say."""
        info = await self._user(user, NAME_SECONDS)
        profile = info.get("profile") or {}
        called = (profile.get("display_name"), profile.get("real_name"), info.get("real_name"), info.get("name"))
        return next((str(name) for name in called if name), user)

    async def is_admin(self, user: str, channel: str) -> bool:
        """Whether they run the workspace, or made the channel. People of other workspaces run theirs, not ours."""
        info = await self._user(user, RIGHTS_SECONDS)
        ours = info.get("team_id", self.me.team) == self.me.team
        if ours and (info.get("is_admin") or info.get("is_owner")):
            return True
        return await self._creator(channel) == user

    async def is_alone(self, spot: Spot, user: str) -> bool:
        """Whether nobody but this person and bots has written in a thread, so that all of it is said to us."""
        if spot.key not in self._writers:
            self._keep(self._writers, spot.key, await self._ask_writers(spot))
        self.note_writer(spot, user)
        return self._writers[spot.key] == {user}

    def note_writer(self, spot: Spot, user: str) -> None:
        """Somebody writes in a thread."""
        if spot.key in self._writers:
            self._writers[spot.key].add(user)

    async def _user(self, user: str, seconds: float) -> Mapping[str, Any]:
        now = asyncio.get_running_loop().time()
        at, info = self._users.get(user, (float("-inf"), {}))
        if now - at < seconds:
            return info
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                info = dict((await self._client.users_info(user=user))["user"])
        except (SlackApiError, *NETWORK):
            return {} if seconds == RIGHTS_SECONDS else info  # rights are not guessed from what was once so
        self._keep(self._users, user, (now, info))
        return info

    async def _creator(self, channel: str) -> str:
        if channel not in self._creators:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    info = (await self._client.conversations_info(channel=channel))["channel"]
            except (SlackApiError, *NETWORK):
                return ""
            self._keep(self._creators, channel, str(info.get("creator") or ""))
        return self._creators[channel]

    async def _ask_writers(self, spot: Spot) -> set[str]:
        """Everybody, and nobody in particular, where Slack does not say."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                said = await self._client.conversations_replies(
                    channel=spot.channel, ts=str(spot.thread), limit=_REPLIES
                )
        except (SlackApiError, *NETWORK):
            return {""}
        found = {str(m["user"]) for m in said["messages"] if m.get("user") and not m.get("bot_id")}
        return found | ({""} if said.get("has_more") else set())

    @staticmethod
    def _keep(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
        kept[key] = value
        kept.move_to_end(key)
        if len(kept) > _KEPT:
            kept.popitem(last=False)
