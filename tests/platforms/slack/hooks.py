"""HTTP mode: the app is told by signed POSTs to its request URL.

https://docs.slack.dev/authentication/verifying-requests-from-slack, https://docs.slack.dev/apis/events-api/using-http-request-urls
"""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import urlencode

import httpx2
from platforms.core import Json
from platforms.slack.deliveries import ACKNOWLEDGE_SECONDS, Delivery, Failed
from platforms.slack.scene import Scene

JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"


class Hooks:
    """The request URL, which takes events, commands and interactions alike."""

    def __init__(self, scene: Scene) -> None:
        self.url = ""
        self.acknowledge_seconds = ACKNOWLEDGE_SECONDS
        self._scene = scene
        self._client: httpx2.AsyncClient | None = None

    async def attempt(self, delivery: Delivery) -> Json | Failed:
        body, kind = _body(delivery)
        headers = self.signed(body)
        if delivery.attempts > 1:
            headers |= {
                "X-Slack-Retry-Num": str(delivery.attempts - 1),
                "X-Slack-Retry-Reason": _retry_reason(delivery),
            }
        try:
            answer = await self.post(body, headers | {"Content-Type": kind})
        except httpx2.TimeoutException:
            return Failed(reason=f"not acknowledged within {self.acknowledge_seconds:g} s", counted=True)
        except httpx2.HTTPError:
            return Failed(reason="connection_failed", counted=False)
        if answer.status_code != 200:
            delivery.no_retry = answer.headers.get("X-Slack-No-Retry") == "1"
            return Failed(reason=f"answered with {answer.status_code}", counted=True)
        return {} if delivery.kind == "events_api" else _payload(answer)

    async def verify(self) -> bool:
        """The handshake of the app's configuration: whether the app answers the challenge."""
        challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
        body = json.dumps({"type": "url_verification", "token": "verification-token", "challenge": challenge})
        answer = await self.post(body, self.signed(body) | {"Content-Type": JSON_TYPE})
        return answer.status_code == 200 and challenge in answer.text

    async def post(self, body: str, headers: dict[str, str]) -> httpx2.Response:
        """Send anything to the request URL."""
        if self._client is None:
            self._client = httpx2.AsyncClient(trust_env=False, verify=False)
        agent = {"User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)"}
        return await self._client.post(
            self.url, content=body.encode(), headers=agent | headers, timeout=self.acknowledge_seconds
        )

    def signed(self, body: str, *, secret: str = "", age: float = 0) -> dict[str, str]:
        """The headers that prove where a body comes from; with another secret or age, those of a forger."""
        at = str(int(self._scene.clock.now() - age))
        key = (secret or self._scene.app.signing_secret).encode()
        mac = hmac.new(key, f"v0:{at}:{body}".encode(), hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={mac}"}

    async def stop(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _body(delivery: Delivery) -> tuple[str, str]:
    if delivery.kind == "events_api":
        return json.dumps(delivery.payload), JSON_TYPE
    form = delivery.payload if delivery.kind == "slash_commands" else {"payload": json.dumps(delivery.payload)}
    return urlencode(form), FORM_TYPE


def _retry_reason(delivery: Delivery) -> str:
    if "within" in delivery.reason or "timeout" in delivery.reason:
        return "http_timeout"
    return "http_error" if "answered" in delivery.reason else delivery.reason


def _payload(answer: httpx2.Response) -> Json:
    text = answer.text.strip()
    if answer.headers.get("content-type", "").startswith(JSON_TYPE) and text.startswith("{"):
        return dict(json.loads(text))
    return {"text": text} if text else {}
