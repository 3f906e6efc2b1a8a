"""The page of docs/ with recorded conversations: it shows what happens, and every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.telegram_conversation import recorded
from support.transcript import same

from turnback.bots.commands import CATALOGUE, Usage

PAGE = Path(__file__).parents[3] / "docs" / "telegram-transcript.md"
ANEW = "PYTHONPATH=tests .venv/bin/python -m support.telegram_conversation > docs/telegram-transcript.md"


async def test_transcript_shows_what_happens(tmp_path: Path) -> None:
    now = await recorded(tmp_path)
    assert same(PAGE.read_text(encoding="utf-8")) == same(now), f"write it anew: {ANEW}"


@pytest.mark.parametrize("usage", CATALOGUE, ids=lambda usage: usage.usage)
def test_transcript_shows_every_command(usage: Usage) -> None:
    words = " ".join(filter(None, [f"/{usage.word}", usage.sub]))
    typed = re.compile(rf"^\w+(, in reply to “.*”)?: {re.escape(words)}\b", re.MULTILINE)
    assert typed.search(PAGE.read_text(encoding="utf-8"))
