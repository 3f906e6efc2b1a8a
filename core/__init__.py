"""The rewind service and all that it needs; no platform, no web framework, no reading of the environment."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnback.core.service import Turnback, open_service

__all__ = ["Turnback", "open_service"]


def __getattr__(name: str) -> Any:
    """The service on demand: it loads every part, and most modules in here need but a few."""
    if name in __all__:
        from turnback.core import service  # noqa: PLC0415 - see above

        return getattr(service, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
