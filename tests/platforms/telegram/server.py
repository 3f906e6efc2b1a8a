"""A strict Bot API server on loopback, and a world of people who talk to the bot.

    async with TelegramServer() as telegram:
        builder.token(telegram.token).base_url(telegram.base_url).base_file_url(telegram.base_file_url)
        ann = telegram.user("Ann")
        await ann.command("/replay list")
        shown = await ann.private.seen("Turn 1")
        press = await ann.press("Restore", shown)
        assert (await press.answered()).text == ""
        assert telegram.violations == []

It knows what this project uses; any other method is a violation, so that it is added here knowingly.
Error texts are the ones that the real server sends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Literal

from platforms.core import Call, Dropped, Fault, Json, PlatformServer, read_request
from platforms.telegram import accounts, messages, rooms
from platforms.telegram.api import Limits, Params, Request
from platforms.telegram.chats import Chat
from platforms.telegram.flood import Flood, Mode
from platforms.telegram.people import Press, User
from platforms.telegram.refusals import Refused, too_many
from platforms.telegram.scene import BotAccount, Scene
from platforms.telegram.updates import Updates
from platforms.telegram.world import World
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "123456789:AAE-simulated-token-of-thirty-five-"
LONGEST_POLL = 50
GRACE_SECONDS = 0.1
"""A poller that is just going away is no second poller."""

_METHODS = {name.lower(): handler for part in (accounts, messages, rooms) for name, handler in part.METHODS.items()}


class TelegramServer(PlatformServer):
    """The server; its driver methods make people and chats."""

    def __init__(
        self,
        *,
        username: str = "turnback_bot",
        privacy: bool = True,
        flood: Mode = "count",
        limits: Limits | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.limits = limits or Limits()
        self.flood = Flood(self.clock, flood)
        self.updates = Updates(self.clock, self._run_answer)
        self.bot = BotAccount(token=TOKEN, username=username, privacy=privacy)
        self.scene = Scene(self.clock, self.signal, self.bot, self.updates)
        self.world = World(self.scene)
        self._revoked = False

    @property
    def token(self) -> str:
        return self.bot.token

    @property
    def base_url(self) -> str:
        """For `ApplicationBuilder.base_url`; the token is appended."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        return f"{self.url}/file/bot"

    @property
    def unanswered(self) -> list[Press]:
        """Pressed buttons that still wait for their answer."""
        return [press for press in self.scene.presses.values() if press.answer is None]

    def user(self, name: str, *, username: str = "", language: str = "en") -> User:
        return self.world.user(name, username=username, language=language)

    def group(self, title: str, people: Sequence[User], *, bot: bool = True) -> Chat:
        return self.world.group(title, people, bot=bot)

    def supergroup(self, title: str, people: Sequence[User], *, forum: bool = False, bot: bool = True) -> Chat:
        return self.world.supergroup(title, people, forum=forum, bot=bot)

    def channel(self, title: str, people: Sequence[User]) -> Chat:
        return self.world.channel(title, people)

    def upgrade(
        self, group: Chat, *, told: Sequence[Literal["old", "new"]] = ("old", "new"), forum: bool = False
    ) -> Chat:
        """Make a basic group a supergroup; see `World.upgrade`."""
        return self.world.upgrade(group, told=told, forum=forum)

    def promote(self, user: User, chat: Chat, *, anonymous: bool = False) -> None:
        self.world.promote(user, chat, anonymous=anonymous)

    def redeliver(self, update: Json | None = None) -> None:
        """Hand out an update again; the last one unless told which."""
        self.updates.redeliver(update)

    def revoke_token(self) -> None:
        """Refuse everything with 401, until `restore_token`."""
        self._revoked = True

    def restore_token(self) -> None:
        self._revoked = False

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/bot{token}/{method}", self._serve_method, methods=["GET", "POST"]),
                Route("/file/bot{token}/{path:path}", self._serve_file, methods=["GET"]),
            ]
        )

    async def up(self) -> None:
        await super().up()
        self.updates.resume()

    async def down(self) -> None:
        await self.updates.stop()
        await super().down()

    async def _serve_method(self, http: HttpRequest) -> Response:
        params, files = await read_request(http)
        call = self._record(http.path_params["method"], params, files)
        if refused := self._refused_token(http):
            call.status, call.refused = refused.code, refused.text
            return _refusal(refused)
        fault = await self._take_fault(call.method)
        if fault is None or fault.applied:
            body = await self._body(call, http)
        if fault is not None:
            if fault.drop:
                return Dropped()
            failed = _failure(fault)
            call.status, call.refused = failed.code, failed.text
            return _refusal(failed)
        return JSONResponse(body, status_code=call.status, headers=_retry_header(body))

    async def _body(self, call: Call, http: HttpRequest | None) -> Json:
        """Run the method: what it answers, refusals too."""
        try:
            call.answer = await self._run(call, http)
        except Refused as refused:
            call.status, call.refused = refused.code, refused.text
            if refused.violation:
                call.violations.append(refused.text)
            return refused.body()
        call.status = 200
        return {"ok": True, "result": call.answer}

    async def _run(self, call: Call, http: HttpRequest | None) -> object:
        params = Params(call.params)
        if call.method.lower() == "getupdates" and http is not None:
            return await self._get_updates(params, http)
        handler = _METHODS.get(call.method.lower())
        if handler is None:
            raise Refused(404, "Not Found: method not found", violation=True)
        return handler(Request(world=self.world, flood=self.flood, limits=self.limits, call=call, params=params))

    async def _get_updates(self, params: Params, http: HttpRequest) -> list[Json]:
        self.updates.allow(params.json("allowed_updates"))
        timeout = min(float(params.text("timeout") or 0), LONGEST_POLL)
        poll = self.updates.poll(params.number("offset"), params.number("limit") or 100, timeout)
        polling, gone = asyncio.create_task(poll), asyncio.create_task(_gone(http))
        try:
            await asyncio.wait({polling, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not polling.done():
                return []
            if isinstance(polling.exception(), Refused):
                await asyncio.wait({gone}, timeout=GRACE_SECONDS)
            if gone.done():
                return []
            return polling.result()
        finally:
            for task in (polling, gone):
                task.cancel()
            await asyncio.gather(polling, gone, return_exceptions=True)

    async def _run_answer(self, values: Json) -> None:
        """A method that the webhook put into its answer."""
        await self._body(self._record(str(values.pop("method")), values, {}), None)

    async def _serve_file(self, http: HttpRequest) -> Response:
        if refused := self._refused_token(http):
            return _refusal(refused)
        call = self._record("download", {"path": http.path_params["path"]}, {})
        fault = await self._take_fault(call.method)
        stored = self.scene.files.at(http.path_params["path"])
        if fault is not None:
            return Dropped() if fault.drop else _refusal(_failure(fault))
        if stored is None:
            return _refusal(Refused(404, "Not Found"))
        call.status = 200
        return Response(stored.data, media_type=stored.mime)

    def _refused_token(self, http: HttpRequest) -> Refused | None:
        if self._revoked or http.path_params["token"] != self.bot.token:
            return Refused(401, "Unauthorized")
        return None


async def _gone(http: HttpRequest) -> None:
    """Return when the client has hung up."""
    with contextlib.suppress(RuntimeError):
        while (await http.receive())["type"] != "http.disconnect":
            pass


def _failure(fault: Fault) -> Refused:
    if fault.status == 429:
        return too_many(fault.retry_after or 1)
    words = {401: "Unauthorized", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}
    return Refused(fault.status, words.get(fault.status, "Internal Server Error"))


def _refusal(refused: Refused) -> Response:
    body = refused.body()
    return JSONResponse(body, status_code=refused.code, headers=_retry_header(body))


def _retry_header(body: Json) -> dict[str, str]:
    seconds = body.get("parameters", {}).get("retry_after")
    return {"Retry-After": str(seconds)} if seconds else {}
