"""The agent that `agent.kind` names.

Built-in kinds and an admin's own are found the same way, by `module:attribute`, so that a program that
runs no agent loads no agent library.
"""

from __future__ import annotations

import importlib
from typing import Any

from turnback.core.agents.options import AgentOptions
from turnback.core.agents.protocol import Agent

_BUILT_IN = {
    "demo": "turnback.core.agents.demo:build",
    "pydantic-ai": "turnback.core.agents.models:build",
}
_NOT_BUILT = frozenset({"langgraph"})


def load_agent(kind: str, options: AgentOptions | None = None) -> Agent:
    """The agent; raises ValueError with one line about the setting that is wrong.

    `module:attribute` is an agent, or a class or function that gives one without arguments.
    """
    if kind in _NOT_BUILT:
        raise ValueError(f"agent.kind: {kind} is not built yet")
    if kind in _BUILT_IN:
        agent: Agent = _find(_BUILT_IN[kind])(options or AgentOptions())
        return agent
    if ":" not in kind:
        raise ValueError(f"agent.kind: {kind!r} is unknown: give {', '.join(_BUILT_IN)} or module:attribute")
    return _own(kind)


def _own(kind: str) -> Agent:
    found = _find(kind)
    if isinstance(found, type) or (not _is_agent(found) and callable(found)):
        try:
            found = found()
        except Exception as error:  # somebody else's code: whatever it raises is told as a bad setting
            raise ValueError(f"agent.kind: {kind} does not give an agent: {_line(error)}") from error
    if not _is_agent(found):
        raise ValueError(f"agent.kind: {kind} is no agent: it has no `run(state, text, context)`")
    agent: Agent = found
    return agent


def _find(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except Exception as error:  # a module may raise anything while it is loaded
        raise ValueError(f"agent.kind: the module {module_name!r} cannot be loaded: {_line(error)}") from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise ValueError(f"agent.kind: the module {module_name!r} has no {attribute!r}")
        value = getattr(value, part)
    return value


def _is_agent(value: Any) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "run", None))


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
