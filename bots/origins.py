"""Where a message was written, as the text that a turn keeps: `surface:place#message`."""

from __future__ import annotations

from dataclasses import dataclass

from turnback.core.models import Surface

_SURFACES = frozenset(surface.value for surface in Surface)


@dataclass(frozen=True, slots=True)
class Origin:
    """A message at a place of a platform."""

    surface: Surface
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.surface.value}:{self.place}#{self.message}"


def find_origin(text: str | None) -> Origin | None:
    """The origin that a text names; None for none, and for what others keep there."""
    surface, colon, rest = (text or "").partition(":")
    place, mark, message = rest.rpartition("#")
    if not (colon and mark and place and message) or surface not in _SURFACES:
        return None
    return Origin(Surface(surface), place, message)
