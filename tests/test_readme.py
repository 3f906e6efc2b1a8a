"""What the README shows is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from telegram import Update
from telegram.ext import ApplicationBuilder

from turnback.config.keys import KEYS
from turnback.config.loading import variable_of
from turnback.core import open_service

README = Path(__file__).parent.parent / "README.md"


HOSTS = "In a bot that you already have"


def examples(*, hosts: bool) -> list[str]:
    """The Python in it: what is for a bot that exists already, or all else."""
    sections = re.split(r"^## ", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    wanted = [section for section in sections if section.startswith(HOSTS) == hosts]
    return re.findall(r"```python\n(.*?)```", "".join(wanted), re.DOTALL)


def test_the_examples_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples(hosts=False):
        exec(example, names)
    assert capsys.readouterr().out == "You said: hello\n"
    assert (tmp_path / "data" / "turnback.db").exists()


async def test_the_lines_for_a_telegram_bot_add_the_commands_and_record(tmp_path: Path) -> None:
    example = next(example for example in examples(hosts=True) if "telegram" in example)
    application = ApplicationBuilder().token("123:abc").build()
    chat = {"id": 7, "type": "private", "first_name": "Ann"}
    message = {"message_id": 1, "date": 0, "chat": chat, "from": {**chat, "is_bot": False}, "text": "hello"}
    async with open_service(tmp_path, maintain=False) as service:
        update = Update.de_json({"update_id": 1, "message": message}, application.bot)
        names: dict[str, Any] = {"application": application, "service": service, "update": update}
        await eval(compile(example, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        (thread,) = await service.threads.list_threads(None)
        assert thread.title == "hello"
    assert len(application.handlers[-1]) == 2


def test_every_variable_that_is_named_is_a_setting() -> None:
    pages = [README, *(README.parent / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"\bTURNBACK_\w+", page.read_text(encoding="utf-8"))}
    assert "TURNBACK_TELEGRAM__TOKEN" in named
    assert named <= {variable_of(key) for key in KEYS}


def test_every_page_that_is_linked_exists() -> None:
    pages = [README, *(README.parent / "docs").glob("*.md")]
    links = [(p, link) for p in pages for link in re.findall(r"\]\(([^)#]+)\)", p.read_text(encoding="utf-8"))]
    missing = [(p.name, link) for p, link in links if "://" not in link and not (p.parent / link).exists()]
    assert links
    assert missing == []
