"""The agent that the setting names, or one line about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnback.core.agents.load import load_agent
from turnback.core.agents.models import model_for
from turnback.core.agents.options import AgentOptions
from turnback.core.agents.protocol import Agent, Resumable

MODULE = """
class Own:
    async def run(self, state, text, context):
        yield {"type": "done", "state": state, "text": text}

class Needs(Own):
    def __init__(self, key): ...

ready = Own()
nothing = object()
def make(): return Own()
def wrong(): return 5
def broken(): raise RuntimeError("first line\\nsecond line")
class Holder:
    inner = Own()
"""


@pytest.fixture(autouse=True)
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_agents.py").write_text(MODULE)
    (tmp_path / "bad_agents.py").write_text("raise RuntimeError('no such luck')")
    monkeypatch.syspath_prepend(tmp_path)


def test_demo_needs_no_options() -> None:
    agent = load_agent("demo")

    assert isinstance(agent, Agent)
    assert isinstance(agent, Resumable)


def test_model_by_base_url_needs_no_key() -> None:
    assert isinstance(load_agent("pydantic-ai", AgentOptions(model="m", base_url="http://127.0.0.1:1/v1")), Agent)


@pytest.mark.parametrize("name", ["Own", "ready", "make", "Holder.inner"])
def test_own_agent_is_found(name: str) -> None:
    assert isinstance(load_agent(f"own_agents:{name}"), Agent)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("langgraph", "not built yet"),
        ("magic", "'magic' is unknown: give demo, pydantic-ai or module:attribute"),
        ("no_such_module:x", "'no_such_module' cannot be loaded"),
        ("bad_agents:x", "no such luck"),
        ("own_agents:absent", "has no 'absent'"),
        ("own_agents:", "has no ''"),
        ("own_agents:nothing", "it has no `run"),
        ("own_agents:wrong", "it has no `run"),
        ("own_agents:Needs", "does not give an agent"),
        ("own_agents:broken", "does not give an agent: first line"),
        ("pydantic-ai", "agent.model"),
    ],
)
def test_wrong_kind_is_one_line(kind: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"^agent") as caught:
        load_agent(kind)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["gpt-5", "openai:gpt-5", "nobody:model", "anthropic:claude"])
def test_model_that_cannot_be_used_is_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    with pytest.raises(ValueError, match=r"^agent\.model: ") as caught:
        model_for(AgentOptions(model=name))

    assert "\n" not in str(caught.value)


def test_key_of_the_settings_is_not_printed() -> None:
    assert "sk-secret" not in repr(AgentOptions(api_key="sk-secret"))
