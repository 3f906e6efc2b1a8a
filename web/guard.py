"""What every request must pass before anything looks at it: our name in Host, our page in Origin,
a body of a bearable size. And what every answer carries.

Host is checked because a page elsewhere can have its own name resolve to 127.0.0.1 and then read our
answers; Origin, because a browser sends our cookie along with forms of other pages.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnback.core.errors import Forbidden
from turnback.core.models import ThreadId
from turnback.web.problems import plain, refuse

MAX_BODY_BYTES = 32 * 1024 * 1024
"""A recorded state may be much over `max_snapshot_bytes` (it is cut); this is what we hold in memory."""

HOOKS = "/hooks/"
"""Below it platforms call, by an address of the admin's own and with a secret instead of a cookie."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with it browsers send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
}


class Site:
    """Where people reach us: the address that is listened on, and the public one, if there is one.

    Listening on every address, we cannot know our names: numeric addresses and loopback names pass
    then, since nobody can make a numeric address resolve to us; names need `public_url`.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 8765, public_url: str | None = None) -> None:
        self._host = host.strip("[]").lower()
        self._port = port
        self._public = urlsplit(public_url.rstrip("/")) if public_url else None

    def listens_on(self, host: str, port: int) -> None:
        """Note the address that was really bound (port 0 asks for a free one)."""
        self._host, self._port = host.strip("[]").lower(), port

    @property
    def url(self) -> str:
        """The address that links begin with, without a slash at the end."""
        if self._public is not None:
            return self._public.geturl()
        host = "127.0.0.1" if self._is_wildcard else self._host
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    def thread_url(self, thread_id: ThreadId) -> str:
        """Where a conversation is on the page."""
        return f"{self.url}/chats/{thread_id}"

    def steps_url(self, thread_id: ThreadId) -> str:
        """Where a conversation's steps are on the page."""
        return f"{self.url}/replay?thread={thread_id}"

    def sign_in_url(self, link: str) -> str:
        """Where a sign-in link leads."""
        return f"{self.url}/login?link={link}"

    @property
    def secure(self) -> bool:
        """Whether people reach us by https."""
        return self._public is not None and self._public.scheme == "https"

    @property
    def is_behind_proxy(self) -> bool:
        """Whether a server of the admin's stands before us, whose X-Forwarded headers count."""
        return self._public is not None

    def is_ours(self, host_header: str, scheme: str = "http") -> bool:
        """Whether a Host header names us."""
        if self._public is not None:
            # Before us may be a proxy that speaks https with people and http with us.
            public = self._public.scheme
            if (named := _split(host_header, public)) is not None and named == _split(self._public.netloc, public):
                return True
        place = _split(host_header, scheme)
        if place is None:
            return False
        name, port = place
        if self._is_wildcard:
            return name in _LOOPBACK_NAMES or _is_address(name)
        names = (
            _LOOPBACK_NAMES if self._host in _LOOPBACK_NAMES or _is_loopback(self._host) else frozenset({self._host})
        )
        return port == self._port and (name in names or name == self._host)

    def is_our_origin(self, origin: str, host_header: str, scheme: str) -> bool:
        """Whether an Origin header is this request's own page, or the public one."""
        parts = urlsplit(origin)
        if parts.scheme not in _DEFAULT_PORTS or not parts.netloc:
            return False
        place = _split(parts.netloc, parts.scheme)
        if self._public is not None and (parts.scheme, place) == (
            self._public.scheme,
            _split(self._public.netloc, self._public.scheme),
        ):
            return True
        return parts.scheme == scheme and place is not None and place == _split(host_header, scheme)

    @property
    def _is_wildcard(self) -> bool:
        return self._host in ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound


class Guard:
    """Turns away what is not for us, limits bodies, and adds the headers that protect answers."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, then run the app."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded = _with_headers(send, private=not scope["path"].startswith("/static/"))
        problem = self._objection(scope, headers)
        if problem is not None:
            await problem(scope, receive, guarded)
        else:
            await self._app(scope, _limited(receive), guarded)

    def _objection(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        host, scheme = headers.get("host", ""), scope.get("scheme", "http")
        if scope["path"].startswith(HOOKS):
            return self._too_big(headers)
        if len(headers.getlist("host")) != 1 or not self._site.is_ours(host, scheme):
            return refuse(Forbidden("This address is not one of ours; the admin can set web.public_url."))
        if scope["method"] not in SAFE_METHODS:
            for origin in headers.getlist("origin"):
                if not self._site.is_our_origin(origin, host, scheme):
                    return refuse(Forbidden("That came from a page that is not ours."))
        return self._too_big(headers)

    @staticmethod
    def _too_big(headers: Headers) -> ASGIApp | None:
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > MAX_BODY_BYTES:
            return plain(413, "invalid_request", _TOO_BIG)
        return None


_TOO_BIG = f"body: more than {MAX_BODY_BYTES // 1024 // 1024} MiB."


def _limited(receive: Receive) -> Receive:
    """A `receive` that ends a body without a length once it is too big."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY_BYTES:
            raise HTTPException(413, _TOO_BIG)
        return message

    return limited


def _with_headers(send: Send, *, private: bool) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if private:
                headers["Cache-Control"] = "no-store"
        await send(message)

    return guarded


def _split(netloc: str, scheme: str) -> tuple[str, int] | None:
    """Name and port of `host[:port]`; None if it is not one."""
    try:
        parts = urlsplit(f"//{netloc}")
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.netloc != netloc or "@" in netloc or parts.path or parts.query:
        return None
    return parts.hostname.rstrip("."), _DEFAULT_PORTS.get(scheme, 80) if port is None else port


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
