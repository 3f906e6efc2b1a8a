"""What the README shows is run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parent.parent / "README.md"


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples():
        exec(example, names)
    asyncio.run(names["main"]())
    assert capsys.readouterr().out == "You said: hello\n"
    assert (tmp_path / "data" / "turnback.db").exists()


def test_every_page_that_is_linked_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (README.parent / link).exists()]
    assert links
    assert missing == []
