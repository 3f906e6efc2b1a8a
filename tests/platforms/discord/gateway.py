"""The gateway: sessions, what each is told, and trouble on demand.

https://docs.discord.com/developers/events/gateway. A session outlives its connection; what happens
meanwhile is kept and told after RESUME. How one connection speaks is in `links`.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from platforms.core import WAIT_SECONDS, Json

if TYPE_CHECKING:
    from platforms.discord.links import Link
    from platforms.discord.scene import Scene

GUILDS, MEMBERS, PRESENCES = 1 << 0, 1 << 1, 1 << 8
GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 9, 1 << 12, 1 << 15
KNOWN_INTENTS = (1 << 26) - 1
PRIVILEGED = {"members": MEMBERS, "presences": PRESENCES, "message_content": MESSAGE_CONTENT}
_APP_FLAGS = {"members": 1 << 15, "presences": 1 << 13, "message_content": 1 << 19}

Trouble = Literal["reconnect", "invalid", "resumable", "lost", "close"]


@dataclass(eq=False, kw_only=True)
class Session:
    """What IDENTIFY began."""

    id: str
    intents: int
    told: list[Json] = field(default_factory=list, repr=False)
    link: Link | None = None

    @property
    def seq(self) -> int:
        return len(self.told)

    def tell(self, event: str, data: Json) -> None:
        """One dispatch; sent at once where there is a connection."""
        packet = {"op": 0, "t": event, "s": self.seq + 1, "d": data}
        self.told.append(packet)
        if self.link is not None:
            self.link.send(packet)


class Gateway:
    """All sessions of the bot."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.sessions: dict[str, Session] = {}
        self.links: list[Link] = []
        self.heartbeat_seconds = 41.25
        self.privileged: set[str] = set(PRIVILEGED)
        """The privileged intents that the portal allows this bot."""
        self.refusing = False
        """Whether new connections are refused with 503."""
        self.identified = 0
        self.resumed = 0
        self.intents = 0
        """What the last IDENTIFY asked for."""
        self.repeat = 0
        """How many events that had arrived the next RESUME tells again."""

    @property
    def app_flags(self) -> int:
        return sum(_APP_FLAGS[name] for name in self.privileged)

    @property
    def connected(self) -> bool:
        return any(session.link for session in self.sessions.values())

    async def ready(self, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the bot has a session and a connection."""
        await self.scene.signal.until(lambda: self.connected, lambda: "the bot is connected", seconds)

    async def flushed(self) -> None:
        """Return when everything is on its way to the bot."""
        for link in list(self.links):
            await link.flushed()

    def begin(self, link: Link, intents: int) -> None:
        """Answer IDENTIFY."""
        scene, session = self.scene, Session(id=secrets.token_hex(16), intents=intents, link=link)
        self.sessions[session.id] = session
        link.session = session
        self.identified, self.intents = self.identified + 1, intents
        guilds = [guild for guild in scene.guilds.values() if guild.has_bot]
        ready = {
            "v": 10,
            "user": scene.bot.json() | {"verified": True, "mfa_enabled": True},
            "session_id": session.id,
            "resume_gateway_url": scene.gateway_url,
            "guilds": [{"id": guild.id, "unavailable": True} for guild in guilds],
            "private_channels": [],
            "relationships": [],
            "application": {"id": scene.app_id, "flags": self.app_flags},
            "shard": [0, 1],
        }
        session.tell("READY", ready)
        if intents & GUILDS:
            for guild in guilds:
                session.tell("GUILD_CREATE", guild.json())
        scene.signal.touch()

    def resume(self, link: Link, session_id: str, seq: int) -> bool:
        """Answer RESUME: what was missed, then RESUMED. False without such a session."""
        session = self.sessions.get(session_id)
        if session is None or seq > session.seq:
            return False
        session.link, link.session = link, session
        start, self.repeat = max(0, seq - self.repeat), 0
        for packet in session.told[start:]:
            if packet["s"] > seq or packet["t"] not in ("READY", "RESUMED"):
                link.send(packet)
        session.tell("RESUMED", {})
        self.resumed += 1
        self.scene.signal.touch()
        return True

    def left(self, link: Link, *, clean: bool) -> None:
        """A connection is gone; `clean`: the bot itself closed it with 1000 or 1001, which ends the session."""
        if link in self.links:
            self.links.remove(link)
        session = link.session
        if session is not None and session.link is link:
            session.link = None
            if clean:
                self.sessions.pop(session.id, None)
        self.scene.signal.touch()

    def tell(self, event: str, data: Json, *, intents: int = 0, hidden: Json | None = None) -> bool:
        """Tell every session that asked for it. `hidden`: what those see that may not read messages.

        Answers whether anybody heard it now.
        """
        heard = False
        for session in self.sessions.values():
            if intents and not session.intents & intents:
                continue
            blind = hidden is not None and not session.intents & MESSAGE_CONTENT
            session.tell(event, hidden if blind and hidden is not None else data)
            heard = heard or session.link is not None
        return heard

    def redeliver(self, event: str = "") -> None:
        """Tell the last such event again, with the same content; MESSAGE_CREATE or INTERACTION_CREATE unless told."""
        wanted = (event,) if event else ("MESSAGE_CREATE", "INTERACTION_CREATE")
        for session in self.sessions.values():
            packet = next((packet for packet in reversed(session.told) if packet["t"] in wanted), None)
            if packet is not None:
                session.tell(packet["t"], packet["d"])

    def drop(self, how: Trouble, *, code: int = 4000) -> None:
        """Trouble for every connection.

        "reconnect" asks the bot to come again (op 7); "invalid" ends its session, "resumable" does not (both op 9);
        "lost" cuts the line, "close" closes it with `code`.
        """
        for link in list(self.links):
            match how:
                case "reconnect":
                    link.send({"op": 7, "d": None, "s": None, "t": None})
                case "invalid" | "resumable":
                    if how == "invalid" and link.session:
                        self.sessions.pop(link.session.id, None)
                    link.send({"op": 9, "d": how == "resumable", "s": None, "t": None})
                case "lost":
                    link.cut()
                case "close":
                    link.close(code)

    def forget_sessions(self) -> None:
        """As after a long outage: nothing can be resumed, and nobody will be told what was missed."""
        self.sessions.clear()
