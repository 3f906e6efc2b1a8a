"""Settings as the core knows them, and the addresses that follow from them."""

from __future__ import annotations

import sys
from pathlib import Path

import structlog

from turnback.cli.options import folder
from turnback.cli.output import Failed
from turnback.config import Loaded, Settings, SettingsError
from turnback.core.agents.load import load_agent
from turnback.core.agents.options import AgentOptions, PermissionMode, ShellMode
from turnback.core.agents.protocol import Agent
from turnback.core.beside import stored_settings
from turnback.core.policy import Access, Budgets, TimeTravel

_log = structlog.get_logger(__name__)


async def with_page(loaded: Loaded) -> Loaded:
    """The settings with what the page has set. A value that is no longer valid is left out, and said."""
    overrides = dict(await stored_settings(folder(loaded)))
    try:
        return loaded.with_page(overrides)
    except SettingsError as error:
        for line in error.lines:
            _log.warning("a setting of the page is left out", why=line)
    usable = {}
    for key, value in overrides.items():
        try:
            loaded.with_page({key: value})
        except SettingsError:
            continue
        usable[key] = value
    return loaded.with_page(usable)


def agent_of(settings: Settings) -> Agent:
    """The agent that the settings name. Raises Failed with the one line that says why there is none.

    An admin's own module may lie in the working directory, where `python -m` would find it, too.
    """
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    options = AgentOptions(
        model=settings.agent.model,
        base_url=settings.agent.base_url,
        api_key=settings.agent.api_key.get_secret_value() if settings.agent.api_key else None,
        system_prompt=settings.agent.system_prompt,
        permission_mode=PermissionMode(settings.agent.permission_mode),
        max_context_tokens=settings.agent.max_context_tokens,
        shell=ShellMode(settings.agent.shell),
    )
    try:
        return load_agent(settings.agent.kind, options)
    except ValueError as error:
        raise Failed(str(error)) from None


def time_travel(settings: Settings) -> TimeTravel:
    """`time_travel.*` as the core knows it."""
    values = settings.time_travel
    return TimeTravel(
        enabled=values.enabled,
        budgets=Budgets(**values.model_dump(include=set(Budgets.__dataclass_fields__))),
        auto_maintain=values.auto_maintain,
        retention_days=values.retention_days,
        on_restore=values.on_restore,
        lessons=values.lessons,
    )


def access(settings: Settings) -> Access:
    """`access.*` as the core knows it."""
    return Access(group_policy=settings.access.group_policy, approvers=settings.access.approvers)


def local_url(host: str, port: int) -> str:
    """Where this machine reaches a server that listens there."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host)  # noqa: S104 - read, not bound
    return f"http://{bracketed(reached)}:{port}"


def bracketed(host: str) -> str:
    """A host as it stands in an address."""
    name = host.strip("[]")
    return f"[{name}]" if ":" in name else name
