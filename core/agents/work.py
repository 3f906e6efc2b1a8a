"""What the tools of one turn share: the turn's context, and the keys of the state that tools change.

The values are replaced, never changed in place: states that were handed out hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai import RunContext

from turnback.core.agents.protocol import Context


@dataclass(kw_only=True)
class Work:
    """One turn's working values; `plan` holds `{"title", "status"}` items."""

    context: Context
    plan: Sequence[Mapping[str, Any]] = ()
    scratchpad: str = ""


ToolContext: TypeAlias = RunContext[Work]
