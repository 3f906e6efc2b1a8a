"""Steps as they are offered while somebody types."""

from __future__ import annotations

from pathlib import Path

from support.world import ANN, Scripted

from turnback.bots.offering import offered
from turnback.core import open_service


async def test_newest_fitting_steps_are_offered_first_and_no_more_than_wanted(tmp_path: Path) -> None:
    async with open_service(tmp_path, agent=Scripted(), maintain=False) as service:
        thread = await service.rewind.create_thread(ANN)
        for text in ("apples", "pears", "more apples"):
            await service.turns.wait(await service.turns.send(ANN, thread.id, text))
        steps = (await service.rewind.list_steps(ANN, thread.id)).steps
    now = steps[-1].step.created_at
    newest = [view.step.id for view in reversed(steps)]
    assert [option.command for option in offered(steps, "", now, 25)] == newest
    assert [option.command for option in offered(steps, "", now, 2)] == newest[:2]
    assert [option.command for option in offered(steps, "APPLES", now, 25)] == [newest[0], newest[2]]
    assert [option.command for option in offered(steps, newest[1][:20], now, 25)] == [newest[1]]
    assert offered(steps, "", now, 1)[0].label.startswith("→ turn 3, step 1 · ")
    assert offered(steps, "plums", now, 25) == []
