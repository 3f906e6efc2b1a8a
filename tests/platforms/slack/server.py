"""A strict simulated Slack on loopback, and a workspace of people who talk to the bot.

    async with SlackServer() as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        app = AsyncApp(client=client)
        await AsyncSocketModeHandler(app, slack.app_token).connect_async()
        ann = slack.user("Ann")
        general = slack.channel("general", [ann])
        command = await ann.command("/replay list", general)
        await command.answered()
        shown = await general.seen("Turn 1")
        await ann.press("Restore", shown)
        assert slack.violations == []

Over HTTP instead: `slack.request_url = "http://127.0.0.1:8765/hooks/slack"`. It knows what this project uses;
any other method, block, scope or event is a violation, so that it is added here knowingly.
"""

from __future__ import annotations

from collections.abc import Sequence

from platforms.core import Call, Dropped, Fault, Json, PlatformServer, read_request
from platforms.slack import answers, messages, rooms, uploads, views
from platforms.slack.api import Handler, Limits, Params, Request
from platforms.slack.channels import Channel
from platforms.slack.deliveries import Deliveries, Delivery, Transport
from platforms.slack.hooks import Hooks
from platforms.slack.manifest import EXAMPLE, read_manifest
from platforms.slack.people import User, Webhook
from platforms.slack.rates import BURST, Mode, Rates
from platforms.slack.refusals import Refused, missing, too_many, wrong
from platforms.slack.scene import App, Scene
from platforms.slack.sockets import Reason, Sockets
from platforms.slack.world import World
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute

API_HOST = "slack.com"
HOSTS = {"hooks": "hooks.slack.com", "files": "files.slack.com", "socket": "wss-primary.slack.com"}
APP_METHOD = "apps.connections.open"

_METHODS: dict[str, Handler] = messages.METHODS | rooms.METHODS | uploads.METHODS | views.METHODS


class SlackServer(PlatformServer):
    """The server; its driver methods make people and channels."""

    websockets = "websockets-sansio"

    def __init__(
        self,
        *,
        manifest: Json | None = None,
        team: str = "T0TURNBACK",
        rates: Mode = "count",
        method_rates: Mode = "off",
        burst: int = BURST,
        limits: Limits | None = None,
        own_hosts: bool = False,
        port: int = 0,
    ) -> None:
        """`own_hosts`: give out URLs of Slack's own hosts, for an app behind a proxy that leads them here."""
        super().__init__(port)
        self.limits = limits or Limits()
        self.rates = Rates(self.clock, rates, methods=method_rates, burst=burst)
        self.own_hosts = own_hosts
        self.app = App(manifest=read_manifest(manifest or EXAMPLE), team=team)
        self.scene = Scene(self.clock, self.signal, self.app, self._public_url)
        self.world = World(self.scene)
        self.sockets, self.hooks = Sockets(self.scene), Hooks(self.scene)
        self.deliveries = self.scene.deliveries = Deliveries(self.scene, self._transport, self._show)

    @property
    def bot_token(self) -> str:
        return self.app.bot_token

    @property
    def app_token(self) -> str:
        return self.app.app_token

    @property
    def signing_secret(self) -> str:
        return self.app.signing_secret

    @property
    def base_url(self) -> str:
        """For `AsyncWebClient(base_url=...)`."""
        return f"{self.url}/api/"

    @property
    def routes(self) -> dict[str, int]:
        """Slack's own hosts and this server's port, for a `Gate`; with `own_hosts`."""
        return dict.fromkeys((API_HOST, *HOSTS.values()), self.port)

    @property
    def request_url(self) -> str:
        """Where the app is told things over HTTP; empty for Socket Mode."""
        return self.hooks.url

    @request_url.setter
    def request_url(self, url: str) -> None:
        self.hooks.url = url

    @property
    def violations(self) -> list[str]:
        return [*super().violations, *self.scene.notes]

    def user(self, name: str, *, admin: bool = False, owner: bool = False, bot: bool = False) -> User:
        return self.world.user(name, admin=admin, owner=owner, bot=bot)

    def webhook(self, name: str) -> Webhook:
        return self.world.webhook(name)

    def channel(self, name: str, people: Sequence[User], *, private: bool = False, bot: bool = True) -> Channel:
        return self.world.channel(name, people, private=private, bot=bot)

    def group_direct(self, people: Sequence[User]) -> Channel:
        return self.world.group_direct(people)

    async def connected(self, count: int = 1, *, seconds: float = 10.0) -> None:
        """Wait until the app has `count` connections in Socket Mode."""
        await self.sockets.connected(count, seconds=seconds)

    async def disconnect(self, reason: Reason = "refresh_requested") -> None:
        """End the connections of Socket Mode; see `Sockets.disconnect`."""
        await self.sockets.disconnect(reason)

    def redeliver(self, event: Delivery | None = None, *, anew: bool = False) -> Delivery:
        """Tell an event again; see `Deliveries.redeliver`."""
        return self.deliveries.redeliver(event, anew=anew)

    async def verify_url(self) -> bool:
        """Whether the app answers the challenge of its configuration page."""
        return await self.hooks.verify()

    def acknowledge_within(self, seconds: float) -> None:
        """Give the app less than the 3 seconds, so that a test need not wait so long."""
        self.sockets.acknowledge_seconds = self.hooks.acknowledge_seconds = seconds

    def revoke_token(self, error: str = "token_revoked") -> None:
        """Refuse the bot's token with token_revoked, account_inactive or invalid_auth, until `restore_token`."""
        self.app.revoked = error

    def revoke_app_token(self) -> None:
        """Refuse new connections of Socket Mode, until `restore_token`."""
        self.app.app_token_revoked = True

    def restore_token(self) -> None:
        self.app.revoked, self.app.app_token_revoked = "", False

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/{method}", self._serve_method, methods=["GET", "POST"]),
                Route("/response/{team}/{key}", self._serve_response, methods=["POST"]),
                Route("/upload/v1/{file_id}", self._serve_upload, methods=["POST"]),
                Route("/files-pri/{team_file}/{path:path}", self._serve_file, methods=["GET"]),
                WebSocketRoute("/link/", self.sockets.serve),
            ]
        )

    async def up(self) -> None:
        await super().up()
        self.deliveries.resume()

    async def down(self) -> None:
        await self.deliveries.stop()
        await self.sockets.stop()
        await super().down()

    def _transport(self) -> Transport:
        return self.hooks if self.hooks.url else self.sockets

    def _show(self, delivery: Delivery) -> None:
        answers.show_acknowledgement(self.scene, delivery)

    def _public_url(self, host: str, path: str) -> str:
        secure, scheme = ("s", HOSTS[host]) if self.own_hosts else ("", f"127.0.0.1:{self.port}")
        return f"{'ws' if host == 'socket' else 'http'}{secure}://{scheme}{path}"

    async def _serve_method(self, http: HttpRequest) -> Response:
        params, files = await read_request(http)
        token = _bearer(http) or str(params.pop("token", ""))
        call = self._record(http.path_params["method"], params, files)
        fault = await self._take_fault(call.method)
        if fault is not None and not fault.applied:
            return _failed(call, fault)
        answer = self._answer(call, token)
        return answer if fault is None else _failed(call, fault)

    def _answer(self, call: Call, token: str) -> Response:
        """Run the method: what it answers, refusals too."""
        headers = {"X-OAuth-Scopes": ",".join(sorted(self.app.manifest.scopes))}
        try:
            self._check_token(call.method, token)
            call.answer = {"ok": True, **self._run(call)}
        except Refused as refused:
            _note_refused(call, refused)
            return JSONResponse(refused.body(), refused.status, headers | refused.headers())
        finally:
            self.signal.touch()
        call.status = 200
        return JSONResponse(call.answer, headers=headers)

    def _run(self, call: Call) -> Json:
        if call.method == APP_METHOD:
            return {"url": self.sockets.open_url()}
        handler = _METHODS.get(call.method)
        if handler is None:
            raise wrong("unknown_method")
        params = Params(call.params)
        request = Request(world=self.world, rates=self.rates, limits=self.limits, call=call, params=params)
        request.count_call()
        return handler(request)

    def _check_token(self, method: str, token: str) -> None:
        if not token:
            raise wrong("not_authed")
        wanted, other = (self.app_token, self.bot_token) if method == APP_METHOD else (self.bot_token, self.app_token)
        if token == other:
            raise wrong("not_allowed_token_type")
        if token != wanted or (method == APP_METHOD and self.app.app_token_revoked):
            raise missing("invalid_auth")
        if self.app.revoked and method != APP_METHOD:
            raise missing(self.app.revoked)

    async def _serve_response(self, http: HttpRequest) -> Response:
        body, _ = await read_request(http)
        call = self._record("response_url", body, {})
        fault = await self._take_fault(call.method)
        if fault is None or fault.applied:
            try:
                answers.respond(self.scene, self.limits, http.path_params["key"], body, call.violations)
                call.status = 200
            except Refused as refused:
                _note_refused(call, refused)
                status = refused.status if refused.status != 200 else 400
                return JSONResponse(refused.body(), status)
        return PlainTextResponse("ok") if fault is None else _failed(call, fault)

    async def _serve_upload(self, http: HttpRequest) -> Response:
        multipart = http.headers.get("content-type", "").startswith("multipart/")
        files = (await read_request(http))[1] if multipart else {"": await http.body()}
        data = next(iter(files.values()), b"")
        call = self._record("upload", {"file": http.path_params["file_id"]}, files)
        if (fault := await self._take_fault(call.method)) is not None:
            return _failed(call, fault)
        if sentence := uploads.take_upload(self.scene, call.params["file"], data):
            _note_refused(call, wrong(sentence))
            return PlainTextResponse("400", 400)
        call.status = 200
        return PlainTextResponse(f"OK - {len(data)}")

    async def _serve_file(self, http: HttpRequest) -> Response:
        """The bytes for the bot's token; for anybody else a page to sign in, with status 200."""
        file_id = http.path_params["team_file"].partition("-")[2]
        call = self._record("download", {"file": file_id}, {})
        if (fault := await self._take_fault(call.method)) is not None:
            return _failed(call, fault)
        call.status = 200
        if _bearer(http) != self.bot_token or self.app.revoked or "files:read" not in self.app.manifest.scopes:
            _note_refused(call, missing("login") if self.app.revoked else wrong("a file was asked for without a token"))
            return HTMLResponse(uploads.LOGIN_PAGE)
        stored = uploads.find_readable(self.scene, file_id, self.world.channels)
        if stored is None:
            call.status, call.refused = 404, "file_not_found"
            return HTMLResponse("", 404)
        return Response(stored.data, media_type=stored.mime)


def _bearer(http: HttpRequest) -> str:
    return http.headers.get("authorization", "").removeprefix("Bearer ")


def _note_refused(call: Call, refused: Refused) -> None:
    call.status, call.refused = refused.status, refused.error
    if refused.violation:
        call.violations.append(refused.sentence)


def _failed(call: Call, fault: Fault) -> Response:
    """Planned trouble: with status 200, Slack's own word for a failure inside."""
    if fault.drop:
        return Dropped()
    call.status = fault.status
    if fault.status == 429:
        refused = too_many(fault.retry_after or 1)
        call.refused = refused.error
        return JSONResponse(refused.body(), 429, refused.headers())
    call.refused = "internal_error"
    if fault.status == 200:
        return JSONResponse({"ok": False, "error": call.refused})
    return HTMLResponse("<html>upstream connect error</html>", fault.status)
