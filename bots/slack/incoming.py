"""Makes of what was heard what the desk takes: messages and presses, with the ways to answer them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from turnback.bots.platform import Back, Left, Message, Person, Press, Said
from turnback.bots.slack.answering import Answers, Asked, ResponseUrl
from turnback.bots.slack.directory import Directory
from turnback.bots.slack.files import attachments
from turnback.bots.slack.keys import place_at, user_key
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.reading import Heard
from turnback.core.models import Surface


class Incoming:
    """Makes messages and presses."""

    def __init__(self, outlet: SlackOutlet, directory: Directory, api_base_url: str | None) -> None:
        self._answers = Answers(outlet)
        self._token = outlet.client.token or ""
        self._directory = directory
        self._api_base_url = api_base_url

    async def message(self, heard: Heard, key: str, at: datetime, url: ResponseUrl | None) -> Message:
        """Something that was written, typed as a command, or chosen from a message's menu."""
        place = place_at(heard.spot)
        return Message(
            person=await self._person(heard),
            place=place,
            at=heard.at or at,
            back=self._back(heard, url),
            is_admin=self._admin_asker(heard),
            id=heard.message or key,
            text=heard.text,
            addressed=heard.addressed,
            mentioned=heard.mentioned,
            bang=heard.kind == "message",
            reply_to=heard.message if heard.kind == "shortcut" else None,
            files=attachments(heard.files, self._token, self._api_base_url),
        )

    async def press(self, heard: Heard, at: datetime, url: ResponseUrl | None) -> Press:
        """A press on a button, or a choice."""
        return Press(
            person=await self._person(heard),
            place=place_at(heard.spot),
            at=at,
            back=self._back(heard, url),
            is_admin=self._admin_asker(heard),
            command=heard.text,
            message=heard.message or None,
        )

    def left(self, heard: Heard) -> Left:
        """Somebody who is no more in a channel."""
        gone = user_key(heard.team, heard.user) if heard.user != self._directory.me.user else None
        return Left(surface=Surface.SLACK, place=heard.spot.key, user_key=gone)

    async def _person(self, heard: Heard) -> Person:
        return Person(
            surface=Surface.SLACK,
            user_key=user_key(heard.team, heard.user),
            name=await self._directory.name(heard.user),
            scopes=(f"{Surface.SLACK.value}:{heard.team}",),
        )

    def _admin_asker(self, heard: Heard) -> _AdminAsker:
        return _AdminAsker(self._directory, heard)

    def _back(self, heard: Heard, url: ResponseUrl | None) -> Back:
        by_url_first = heard.kind == "command" and heard.spot.is_group
        asked = Asked(spot=heard.spot, user=heard.user, response_url=url, by_url_first=by_url_first)
        answers = self._answers

        async def back(said: Said, *, private: bool = False) -> Sequence[str]:
            return await answers(asked, said, private=private)

        return back


class _AdminAsker:
    """See `platform.Incoming.is_admin`."""

    def __init__(self, directory: Directory, heard: Heard) -> None:
        self._directory = directory
        self._heard = heard

    async def __call__(self) -> bool:
        return await self._directory.is_admin(self._heard.user, self._heard.spot.channel)
