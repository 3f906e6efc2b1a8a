"""server.json."""

from __future__ import annotations

import stat
from pathlib import Path

from turnback.cli.server_file import NAME, Server, announced, find_server, read_server

SERVER = Server(url="http://127.0.0.1:1", token="secret")


def test_file_is_there_while_the_server_runs_and_for_its_owner_only(tmp_path: Path) -> None:
    with announced(tmp_path, SERVER):
        assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
        assert read_server(tmp_path) == SERVER
    assert list(tmp_path.iterdir()) == []


def test_file_of_a_killed_server_is_replaced(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"url": "http://127.0.0.1:2", "token": "old"}')
    with announced(tmp_path, SERVER):
        assert read_server(tmp_path) == SERVER


async def test_server_that_does_not_answer_counts_as_none(tmp_path: Path) -> None:
    with announced(tmp_path, SERVER):
        assert await find_server(tmp_path) is None


async def test_unreadable_file_counts_as_none(tmp_path: Path) -> None:
    for content in ("", "[]", "{}", "null", "not json"):
        (tmp_path / NAME).write_text(content)
        assert await find_server(tmp_path) is None
