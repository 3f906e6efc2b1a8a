"""SIGKILL at every stage of every operation that changes a thread: the next start finds it before or after."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CRASH = Path(__file__).parent.parent / "support" / "crash.py"

STRIDES = {"restore": 2, "undo": 1, "redo": 2, "reset": 2, "fork": 3, "clear": 3, "forget": 3, "delete": 3}
"""Each SQL statement is a stage; of operations with many of them, every second or third is tried."""

STRIDES |= {"discard": 7, "turn": 7, "ask": 1, "leave": 1}

MIN_STAGES = 12


def crashed(operation: str) -> dict[str, Any]:
    command = [sys.executable, str(CRASH), operation, str(STRIDES[operation])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["stages"] >= MIN_STAGES
    assert told["before"] != told["after"]
    return told


@pytest.mark.timeout(420)
@pytest.mark.parametrize("operation", [o for o in STRIDES if o not in ("turn", "ask", "leave")])
def test_a_kill_leaves_the_thread_before_or_after(operation: str) -> None:
    told = crashed(operation)
    assert told["between"] == []


@pytest.mark.timeout(420)
def test_a_kill_in_a_turn_keeps_its_finished_steps_and_closes_it() -> None:
    told = crashed("turn")
    ((thread_id, whole),) = told["after"].items()
    before = told["before"][thread_id]
    for stage, seen in told["between"]:
        assert set(seen) == {thread_id}, f"stage {stage}: {seen}"
        thread = seen[thread_id]
        known = len(before["transcript"])
        assert thread["running"] is None
        assert thread["transcript"][known] == "steps 2"
        assert thread["transcript"][known + 1].startswith("Interrupted by a restart")
        finished = len(thread["steps"]) - len(before["steps"])
        assert 0 <= finished <= 3
        for saved, made in zip(thread["steps"], whole["steps"], strict=False):
            assert saved[:3] + saved[4:] == made[:3] + made[4:], f"stage {stage}"


@pytest.mark.timeout(420)
@pytest.mark.parametrize("operation", ["ask", "leave"])
def test_an_approval_that_was_stored_before_the_end_is_still_waited_for(operation: str) -> None:
    told = crashed(operation)
    ((thread_id, whole),) = told["after"].items()
    assert (whole["gates"], whole["transcript"][-1]) == (["waiting"], "said mail: True")
    for stage, seen in told["between"]:
        assert (seen[thread_id]["gates"], seen[thread_id]["running"]) == ([], None), f"stage {stage}"
        assert seen[thread_id]["transcript"][-1].startswith("Interrupted by a restart")
