"""`turnback chat` and the server behind it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from support.servers import calling, serving, token_of, turnback

from turnback.cli.server_file import NAME


def test_chat_starts_a_server_and_ends_it(tmp_path: Path) -> None:
    done = turnback("chat", "--new", cwd=tmp_path, stdin="hello\n/replay list\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "You said: hello" in done.stdout
    assert "turn 1, step 1" in done.stdout
    assert not (tmp_path / "data" / NAME).exists()
    again = turnback("chat", cwd=tmp_path, stdin="history\n")
    assert "hello" in again.stdout


def test_chat_uses_the_server_that_runs(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running:
        done = turnback("chat", cwd=tmp_path, stdin="hello\n")
        assert "You said: hello" in done.stdout
        with calling(running.url, token_of(tmp_path)) as call:
            (thread,) = call("GET", "/api/threads")["threads"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        arguments = ("chat", thread["thread_id"], "--url", running.url, "--token", token_of(tmp_path))
        done = turnback(*arguments, cwd=elsewhere, stdin="again\n")
        assert "You said: again" in done.stdout
        assert list(elsewhere.iterdir()) == []
        assert running.end() == 0


def test_chat_says_why_its_server_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[agent]\nkind = "no_such_module:agent"\n')
    done = turnback("chat", "--config", "own.toml", cwd=tmp_path, stdin="hello\n")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "no_such_module" in done.stderr


def test_chat_with_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = turnback("chat", "--url", f"http://127.0.0.1:{port}", "--token", "x", cwd=tmp_path, stdin="hello\n")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_chat_is_not_fooled_by_what_a_killed_server_left(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / NAME).write_text(json.dumps({"url": "http://127.0.0.1:9", "token": "x"}))
    done = turnback("chat", cwd=tmp_path, stdin="hello\n")
    assert "You said: hello" in done.stdout
