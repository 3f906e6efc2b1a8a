"""How surfaces differ, declared once: nothing else in the chat layer asks which platform it is on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a surface can do.

    `side_places`: it can open a place beside this one (a topic, a thread) for a fork to go on in.
    `binds`: a place there talks into a thread, and can be made to talk into another; where it does
    not, whoever calls names the thread each time. `talks_beside`: what people say to us there goes on in a
    place beside it, where commands begin with `!`. `max_text`: characters of one message; None: any.
    """

    side_places: bool = False
    binds: bool = True
    talks_beside: bool = False
    max_text: int | None = None


HTTP = Capabilities(binds=False)
"""The API, the page and the terminal: each request names its thread."""
