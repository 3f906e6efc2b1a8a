"""A strict Discord on loopback (REST v10 and gateway), and a world of people who talk to the bot.

    async with DiscordServer() as discord:
        with pointing(discord):  # or through `platforms.gate.Gate` with `discord.routes`
            ann = discord.user("Ann")
            general = discord.guild("Team", [ann]).channel("general")
            await discord.ready()
            asked = await ann.slash("/replay restore", general, step="3fa9c1d2")
            shown = await asked.seen("Restored")
            await ann.press("Bring back", shown)
            assert discord.violations == []

It knows what this project uses; any other route is a violation, so that it is added here knowingly.
Error texts are the ones that the real server sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Literal

import yarl
from platforms.core import WAIT_SECONDS, Call, Dropped, Fault, Json, PlatformServer, read_request
from platforms.discord import accounts, answering, registering, writing
from platforms.discord.api import Handler, Request
from platforms.discord.channels import Channel
from platforms.discord.gateway import Trouble
from platforms.discord.guilds import Guild
from platforms.discord.links import Link, refuse
from platforms.discord.people import User
from platforms.discord.rates import Rates
from platforms.discord.refusals import Refused, missing, too_many, wrong
from platforms.discord.scene import Account, Limits, Scene
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GsimuL.a-simulated-token-of-a-bot"
API_HOST, GATEWAY_HOST, FILES_HOST = "discord.com", "gateway.discord.gg", "cdn.discordapp.com"
VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

_OPEN = ("/interactions/", "/webhooks/")
"""What needs no bot token, but one of its own."""
_SECRET = re.compile(r"^(/(?:interactions|webhooks)/\d+)/[^/]+")


def _compiled() -> Iterator[tuple[str, re.Pattern[str], Handler]]:
    for part in (accounts, registering, answering, writing):
        for route, handler in part.ROUTES.items():
            verb, _, path = route.partition(" ")
            yield verb, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), handler


_ROUTES = tuple(_compiled())


class DiscordServer(PlatformServer):
    """The server; its driver methods make people and guilds."""

    websockets: ClassVar[Literal["none", "websockets-sansio"]] = "websockets-sansio"

    def __init__(
        self,
        *,
        rates: bool = True,
        count_pings: bool = True,
        privileged: Sequence[str] = ("members", "presences", "message_content"),
        heartbeat_seconds: float = 41.25,
        limits: Limits | None = None,
        port: int = 0,
    ) -> None:
        """`rates`: whether rate limits hold. `privileged`: the intents that the portal allows."""
        super().__init__(port)
        self.token = TOKEN
        self.rates = Rates(self.clock, on=rates)
        self.count_pings = count_pings
        self.scene = Scene(self.clock, self.signal, token=TOKEN, limits=limits or Limits(), note=self._note)
        self.scene.urls = self._urls
        self.gateway = self.scene.gateway
        self.gateway.privileged = set(privileged)
        self.gateway.heartbeat_seconds = heartbeat_seconds
        self._revoked = self._proxied = False

    @property
    def bot(self) -> Account:
        return self.scene.bot

    @property
    def commands(self) -> list[Json]:
        """The global application commands."""
        return self.scene.commands

    @property
    def routes(self) -> dict[str, int]:
        """Discord's own hosts and this server's port, for a `Gate`."""
        return dict.fromkeys((API_HOST, GATEWAY_HOST, FILES_HOST, "media.discordapp.net"), self.port)

    def user(self, name: str) -> User:
        """A new person."""
        return self._add_user(name, bot=False)

    def other_bot(self, name: str) -> User:
        """A bot that is not ours, which can write as people can."""
        return self._add_user(name, bot=True)

    def guild(self, name: str, people: Sequence[User], *, bot: bool = True) -> Guild:
        """A guild; the first person owns it. `bot`: whether the bot is in it."""
        guild = Guild(self.scene, name, people[0], people[1:])
        if bot:
            guild.add_bot()
        else:
            del guild.members[self.bot.id]
        return guild

    def webhook_says(self, name: str, text: str, channel: Channel) -> None:
        """Somebody's webhook writes in a channel."""
        hook = Account(id=self.scene.snowflake(), name=name, bot=True, webhook=True)
        channel.acted()
        channel.add(hook, text, about={"webhook_id": hook.id})

    async def ready(self, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the bot is connected to the gateway."""
        await self.gateway.ready(seconds=seconds)

    async def registered(self, name: str, *, seconds: float = WAIT_SECONDS) -> Json:
        """The command of that name, once the bot has registered it, globally or in a guild."""

        def look() -> Json | None:
            every = [*self.commands, *(c for guild in self.scene.guilds.values() for c in guild.commands)]
            return next((command for command in every if command["name"] == name), None)

        return await self.signal.until(look, lambda: f"a command {name!r}; {self._latest()}", seconds)

    def drop(self, how: Trouble, *, code: int = 4000, repeat: int = 0) -> None:
        """Trouble for the gateway; see `Gateway.drop`. `repeat`: events that RESUME tells again though they arrived."""
        self.gateway.repeat = repeat
        self.gateway.drop(how, code=code)

    def redeliver(self, event: str = "") -> None:
        """Tell the last message or interaction again."""
        self.gateway.redeliver(event)

    def revoke_token(self) -> None:
        """Refuse everything with 401 and close the gateway with 4004, until `restore_token`."""
        self._revoked, self.scene.token = True, ""
        self.gateway.forget_sessions()
        self.gateway.drop("close", code=4004)

    def restore_token(self) -> None:
        self._revoked, self.scene.token = False, TOKEN

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/v10/{path:path}", self._serve_api, methods=VERBS),
                Route("/attachments/{channel}/{message}/{name}", self._serve_file, methods=["GET"]),
                WebSocketRoute("/", self._serve_gateway),
            ]
        )

    def _add_user(self, name: str, *, bot: bool) -> User:
        user = User(id=self.scene.snowflake(), name=name, bot=bot, scene=self.scene)
        self.scene.users[user.id] = user
        return user

    def _urls(self) -> tuple[str, str]:
        if self._proxied:
            return f"wss://{GATEWAY_HOST}", f"https://{FILES_HOST}"
        return self.url.replace("http", "ws", 1), self.url

    def _note(self, method: str, sentence: str) -> None:
        self._record(method, {}, {}).violations.append(sentence)

    async def _serve_api(self, http: HttpRequest) -> Response:
        self._proxied = http.url.hostname == API_HOST
        path = f"/{http.path_params['path']}"
        body, query, files = await _read(http)
        params = query | (body if isinstance(body, dict) else {"items": body} if body else {})
        call = self._record(f"{http.method} {_public(path)}", params, files)
        self._mark_answer(path, call)
        fault = await self._take_fault(call.method)
        taken = self.rates.take(http.method, path)
        headers = {"Via": "1.1 google", **taken.headers}
        answer, refused = None, None
        if fault is None or fault.applied:
            try:
                if taken.wait:
                    raise too_many(taken.wait, violation=True)
                answer = self._run(
                    http,
                    path,
                    Request(scene=self.scene, call=call, body=body, path={}, files=files, count_pings=self.count_pings),
                )
            except Refused as error:
                refused = error
        if fault is not None:
            if fault.drop:
                return Dropped()
            refused = _failure(fault, path)
        if refused is not None:
            return self._refusal(call, refused, headers)
        call.status, call.answer = (204 if answer is None else 200), answer
        self.signal.touch()
        if answer is None:
            return Response(status_code=204, headers=headers)
        return JSONResponse(answer, headers=headers)

    def _run(self, http: HttpRequest, path: str, request: Request) -> Any:
        if not path.startswith(_OPEN) and (self._revoked or http.headers.get("authorization") != f"Bot {TOKEN}"):
            raise Refused(401, 0, "401: Unauthorized")
        if any(len(data) > self.scene.limits.file_bytes for data in request.files.values()):
            raise wrong(40005, "Request entity too large", 413)
        for verb, pattern, handler in _ROUTES:
            if verb == http.method and (found := pattern.fullmatch(path)):
                return handler(_at(request, found.groupdict()))
        raise wrong(0, "404: Not Found (not simulated)", 404)

    def _refusal(self, call: Call, refused: Refused, headers: dict[str, str]) -> Response:
        call.status, call.refused = refused.status, refused.sentence
        if refused.violation:
            call.violations.append(refused.sentence)
        self.signal.touch()
        return JSONResponse(refused.body, status_code=refused.status, headers=headers | refused.headers)

    def _mark_answer(self, path: str, call: Call) -> None:
        if path.startswith("/interactions/"):
            asked = self.scene.interactions.get(path.split("/")[3])
            if asked is not None and asked.called_at is None:
                asked.called_at = call.at

    async def _serve_file(self, http: HttpRequest) -> Response:
        call = self._record("download", dict(http.path_params), {})
        fault = await self._take_fault(call.method)
        channel = self.scene.channels.get(http.path_params["channel"])
        message = channel.messages.get(http.path_params["message"]) if channel else None
        data = message.files.get(http.path_params["name"]) if message else None
        if fault is not None:
            return Dropped() if fault.drop else Response(status_code=fault.status)
        if data is None:
            return Response(status_code=404)
        call.status = 200
        return Response(data)

    async def _serve_gateway(self, socket: WebSocket) -> None:
        if self.gateway.refusing:
            await refuse(socket)
            return
        self._proxied = socket.url.hostname == GATEWAY_HOST
        await Link(self.scene, socket, lambda method, data: self._record(method, data, {})).serve()


def pointing(server: DiscordServer) -> AbstractContextManager[None]:
    """Lead the library in this process to the server."""
    return pointing_at(server.url)


@contextmanager
def pointing_at(url: str) -> Iterator[None]:
    """Lead the library in this process to an address: by two class attributes, for want of a setting."""
    from discord.gateway import DiscordWebSocket
    from discord.http import Route as LibraryRoute

    before = LibraryRoute.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    LibraryRoute.BASE = f"{url}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws", 1))
    try:
        yield
    finally:
        LibraryRoute.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before


def _public(path: str) -> str:
    """The path without the secret of an interaction."""
    return _SECRET.sub(r"\1/TOKEN", path)


def _at(request: Request, path: dict[str, str]) -> Request:
    return Request(
        scene=request.scene,
        call=request.call,
        body=request.body,
        path=path,
        files=request.files,
        count_pings=request.count_pings,
    )


async def _read(http: HttpRequest) -> tuple[Any, Json, dict[str, bytes]]:
    """The body, the query, and the files by their names."""
    query: Json = dict(http.query_params)
    if not http.headers.get("content-type", "").startswith("multipart/"):
        raw = await http.body()
        return (json.loads(raw) if raw else {}), query, {}
    params, parts = await read_request(http)
    body = json.loads(params["payload_json"])
    return body, query, {params[f"{part}:name"]: data for part, data in parts.items()}


def _failure(fault: Fault, path: str) -> Refused:
    """What a planned failure says; about an interaction, that its time is over."""
    if fault.status == 429:
        return too_many(fault.retry_after or 1)
    if path.startswith("/interactions/") and fault.status == 404:
        return missing(10062, "interaction")
    if path.startswith("/webhooks/") and fault.status == 401:
        return Refused(401, 50027, "Invalid Webhook Token")
    if fault.status == 404:
        return missing(10008 if "/messages/" in path else 10003, "Message" if "/messages/" in path else "Channel")
    if fault.status == 403:
        return Refused(403, 50013, "Missing Permissions")
    words = {401: "401: Unauthorized", 502: "502: Bad Gateway", 503: "503: Service Unavailable"}
    return Refused(fault.status, 0, words.get(fault.status, f"{fault.status}: Internal Server Error"))
