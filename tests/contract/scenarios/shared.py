"""Other simulated servers: a second opinion on the rules of the platforms.

They lie beside the project, in ../shared/platform_sim; where they do not, what runs against them is skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from contract.scenarios.driver import WAIT_SECONDS
from contract.scenarios.nets import QUIET_SECONDS, Net
from platforms.core import Clock

T = TypeVar("T")

FOLDER = Path(__file__).parents[4] / "shared" / "platform_sim"


def missing() -> str:
    """Why they cannot be had; empty if they can."""
    return "" if FOLDER.is_dir() else "there is no ../shared/platform_sim here"


class SharedClock(Clock):
    """The clock of such a server."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now(self) -> float:
        return float(self._clock.time())

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)


class SharedNet(Net):
    """What all of them do alike."""

    sim: Any

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        try:
            return await self.sim.until(look, WAIT_SECONDS)  # type: ignore[no-any-return]
        except TimeoutError:
            raise AssertionError(f"not within {WAIT_SECONDS} s: {what()}") from None

    async def quiet(self) -> None:
        await self.sim.quiet(QUIET_SECONDS)

    def complaints(self) -> Sequence[str]:
        return [f"{call.method if call else ''}: {sentence}" for call, sentence in self.sim.violations]


def module(name: str) -> Any:
    """One of their modules."""
    _package()
    return _unwritten(lambda: importlib.import_module(f"platform_sim.{name}"))


@cache
def _package() -> Any:
    """By path: it is no package that is installed."""
    spec = importlib.util.spec_from_file_location(
        "platform_sim", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["platform_sim"] = package = importlib.util.module_from_spec(spec)
    load = spec.loader.exec_module
    _unwritten(lambda: load(package))
    return package


def _unwritten(load: Callable[[], T]) -> T:
    """Load something without writing anything beside it."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return load()
    finally:
        sys.dont_write_bytecode = before
