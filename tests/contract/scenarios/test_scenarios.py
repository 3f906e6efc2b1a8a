"""One scenario list, every adapter: each scenario on each surface that has what it needs."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from contract.scenarios import (
    branching,
    going_back,
    groups,
    keeping,
    looking,
    running,
    spelling,
    surviving,
    talking,
)
from contract.scenarios.driver import Feature, Scenario
from contract.scenarios.drivers import SURFACES

ROOMS: tuple[ModuleType, ...] = (
    talking,
    looking,
    going_back,
    branching,
    keeping,
    running,
    groups,
    spelling,
    surviving,
)
SCENARIOS = [found for room in ROOMS for found in vars(room).values() if isinstance(found, Scenario)]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_scenario(surface: str, scenario: Scenario, tmp_path: Path) -> None:
    there = SURFACES[surface]
    if there.missing:
        pytest.skip(there.missing)
    lacks = scenario.needs - there.features
    if lacks:
        pytest.skip(f"{surface} lacks {', '.join(sorted(feature.value for feature in lacks))}")
    async with there.open(tmp_path, scenario.setup) as driver:
        await scenario.act(driver)


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("feature", Feature)
def test_each_feature_is_needed_by_a_scenario_and_had_by_a_surface(feature: Feature) -> None:
    assert any(feature in scenario.needs for scenario in SCENARIOS)
    assert any(feature in surface.features for surface in SURFACES.values())
