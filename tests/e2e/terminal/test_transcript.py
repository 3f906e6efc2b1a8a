"""The page of docs/ with a conversation in the terminal: it shows what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.terminal_conversation import recorded
from support.transcript import same

PAGE = Path(__file__).parents[3] / "docs" / "transcript.md"
ANEW = "PYTHONPATH=tests .venv/bin/python -m support.terminal_conversation > docs/transcript.md"


@pytest.mark.timeout(240)
def test_transcript_shows_what_happens(tmp_path: Path) -> None:
    now = recorded(tmp_path)
    assert same(PAGE.read_text(encoding="utf-8")) == same(now), f"write it anew: {ANEW}"
