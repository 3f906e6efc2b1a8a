"""A turn's context, and the demo agent in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.listening import Surroundings

from turnback.core.agents import demo
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.options import AgentOptions


@pytest.fixture
def context(tmp_path: Path) -> Surroundings:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Surroundings(workspace=workspace)


@pytest.fixture
def agent() -> PydanticAgent:
    return demo.build(AgentOptions())
