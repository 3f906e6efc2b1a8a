"""How commands end: an exit code, and one line on stderr."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from turnback.cli.app import run
from turnback.cli.output import printable
from turnback.core.threads.schema import MIGRATIONS

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("turnback.cli.app.configure_logs", lambda **_: None)
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("restore",),
        ("restore", "abcd"),
        ("undo", "abcd", "0"),
        ("undo", "abcd", "x"),
        ("serve", "--port", "99999"),
        ("serve", "--oops"),
        ("chat", "--url", "http://127.0.0.1:1"),
        ("token", "--account", " "),
        ("token", "--account", "a\x00b"),
        ("bench", "--steps", "1"),
        (),
    ],
)
def test_bad_usage_is_code_2_and_one_line(command: Command, arguments: tuple[str, ...], here: Path) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert list(here.iterdir()) == []


def test_help_is_code_0(command: Command) -> None:
    code, out, _ = command("--help")
    assert code == 0
    assert "restore-backup" in out


def test_version_is_printed(command: Command) -> None:
    assert command("--version")[1].startswith("turnback 0.")


def test_bad_settings_are_code_1_and_a_line_each(command: Command) -> None:
    Path("bad.toml").write_text("[web]\nport = -1\n[time_travel]\nmax_snapshots = 0\n")
    code, out, err = command("serve", "--config", "bad.toml")
    assert (code, out, err.count("\n")) == (1, "", 2)
    assert err.startswith("bad.toml: ")


def test_every_command_takes_config_and_data() -> None:
    from typer.main import get_command

    from turnback.cli.app import app

    commands = dict(get_command(app).commands)  # type: ignore[attr-defined]
    commands |= {f"steps {name}": sub for name, sub in commands.pop("steps").commands.items()}
    missing = [
        name for name, found in commands.items() if not {"config", "data"} <= {param.name for param in found.params}
    ]
    assert missing == []
    assert len(commands) == 23


def test_newer_data_is_refused_untouched_in_one_line(command: Command, here: Path) -> None:
    Path("data").mkdir()
    with sqlite3.connect("data/turnback.db") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = Path("data/turnback.db").read_bytes()
    code, _, err = command("token")
    assert (code, err.count("\n")) == (1, 1)
    assert "newer" in err
    assert Path("data/turnback.db").read_bytes() == before


def test_damaged_data_is_one_line(command: Command) -> None:
    Path("data").mkdir()
    Path("data/turnback.db").write_bytes(b"\x01" * 5000)
    code, _, err = command("token")
    assert (code, err) == (1, "file is not a database\n")


def test_folder_that_cannot_be_made_is_one_line(command: Command) -> None:
    Path("data").write_text("a file")
    code, _, err = command("token")
    assert (code, err.count("\n")) == (1, 1)


def test_check_of_nothing_is_well(command: Command, here: Path) -> None:
    code, out, _ = command("check", "--json")
    found = json.loads(out)
    assert (code, found["ok"]) == (0, True)
    names = ["settings", "folder", "turnback.db", "steps.db", "disk", "clean-up", "clock", "agent"]
    assert [check["name"] for check in found["checks"]] == names
    assert list(here.iterdir()) == []


def test_check_says_what_to_do_about_damage(command: Command) -> None:
    Path("data").mkdir(mode=0o700)
    Path("data/steps.db").write_bytes(b"\x01" * 5000)
    code, out, _ = command("check")
    (line,) = [line for line in out.splitlines() if "steps.db" in line]
    assert code == 1
    assert line.startswith("FAIL")
    assert "move the file away" in line


def test_check_finds_an_open_folder(command: Command) -> None:
    Path("data").mkdir()
    Path("data").chmod(0o755)
    code, out, _ = command("check")
    assert code == 1
    assert "chmod o-rwx data" in out


def test_check_finds_an_agent_that_cannot_be_loaded(command: Command) -> None:
    Path("own.toml").write_text('[agent]\nkind = "no_such_module:agent"\n')
    code, out, _ = command("check", "--config", "own.toml")
    assert code == 1
    assert "no_such_module" in out


def test_serve_with_an_agent_that_cannot_be_loaded_is_one_line(command: Command) -> None:
    Path("own.toml").write_text('[agent]\nkind = "no_such_module:agent"\n')
    code, _, err = command("serve", "--config", "own.toml")
    assert (code, err.count("\n")) == (1, 1)


def test_login_uses_the_public_address(command: Command) -> None:
    Path("own.toml").write_text('[web]\npublic_url = "https://chat.example.org/"\n')
    _, out, _ = command("login", "--config", "own.toml")
    assert out.startswith("https://chat.example.org/login?link=")


def test_steps_list_of_no_data_makes_none(command: Command, here: Path) -> None:
    assert command("steps", "list") == (0, "No chats yet.\n", "")
    assert list(here.iterdir()) == []


def test_what_steers_a_terminal_is_not_printed() -> None:
    assert printable("a\x1b[2Jb\u202ec\ud800") == "a\ufffd[2Jb\ufffdc\ufffd"
    assert printable("é 日本 👩‍🚀 ⑂ →") == "é 日本 👩‍🚀 ⑂ →"


def test_agent_of_the_working_directory_is_found(command: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (here / "agent_of_mine.py").write_text("class Agent:\n    async def run(self, state, text, context): ...\n")
    (here / "own.toml").write_text('[agent]\nkind = "agent_of_mine:Agent"\n')
    code, out, _ = command("check", "--config", "own.toml", "--json")
    assert code == 0
    assert {c["name"]: c["ok"] for c in json.loads(out)["checks"] if c["name"] == "agent"} == {"agent": True}


def test_backup_that_is_not_there_is_said(command: Command) -> None:
    assert command("restore-backup", "nowhere.db") == (1, "", "nowhere.db: there is no such file\n")
