"""What an admin may set about the built-in agent (`agent.*`), as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class PermissionMode(StrEnum):
    """Which tool calls wait for an approval."""

    CONFIRM_ALL = "confirm_all"
    """Every one that is not read-only and changes more than the agent's own state."""
    CONFIRM_SAFES = "confirm_safes"
    """What reaches outside the workspace: the shell."""
    AUTO_APPROVE = "auto_approve"
    """None."""


class ShellMode(StrEnum):
    """What `run_command` is."""

    OFF = "off"
    """The tool does not exist."""
    CONFINED = "confined"
    """It runs in a sandbox that holds the workspace only, or is refused."""
    UNCONFINED = "unconfined"
    """It runs with the rights of Turnback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The settings of an agent; `max_context_tokens` None: never compacted."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    system_prompt: str | None = None
    permission_mode: PermissionMode = PermissionMode.CONFIRM_SAFES
    max_context_tokens: int | None = None
    shell: ShellMode = ShellMode.OFF
