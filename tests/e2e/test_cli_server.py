"""`serve`, `demo`, and the commands beside a server that runs."""

from __future__ import annotations

import json
import re
import signal
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.servers import Caller, Running, calling, serving, token_of, turnback


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Running]:
    with serving(cwd=place) as running:
        yield running


@pytest.fixture(scope="module")
def token(place: Path, server: Running) -> str:
    done = turnback("token", "--account", "ana", "--label", "tests", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def call(server: Running, token: str) -> Iterator[Caller]:
    with calling(server.url, token.strip()) as caller:
        yield caller


def test_token_is_one_line_and_works(token: str, call: Caller) -> None:
    assert re.fullmatch(r"\S{32,}\n", token)
    assert "threads" in call("GET", "/api/threads")


def test_token_without_admin_is_no_admins(place: Path, server: Running) -> None:
    token = token_of(place)
    with calling(server.url, token) as caller:
        assert caller.client.get("/api/audit").status_code == 403


def test_token_with_admin_is_an_admins(place: Path, server: Running) -> None:
    token = token_of(place, "--account", "boss", "--admin")
    with calling(server.url, token) as caller:
        assert "entries" in caller("GET", "/api/audit")


def test_login_link_leads_to_the_server_that_runs(place: Path, server: Running) -> None:
    link = turnback("login", cwd=place).stdout.strip()
    assert link.startswith(f"{server.url}/login?link=")
    with calling(server.url, "none") as caller:
        assert caller.client.get(link).status_code == 200


def test_commands_go_through_the_server(place: Path, call: Caller) -> None:
    thread = call.thread("hello", "steps 2")
    listing = json.loads(turnback("steps", "list", thread, "--json", cwd=place).stdout)
    first = listing["snapshots"][0]["id"]
    done = turnback("restore", thread[:8], first[:8], "--json", cwd=place)
    assert json.loads(done.stdout)["turns_set_aside"] == 1
    assert call("GET", f"/api/replay/snapshots/{thread}")["head"] == first
    assert turnback("redo", thread, cwd=place).returncode == 0
    assert len(call("GET", f"/api/threads/{thread}/messages")["messages"]) == 4


def test_refusal_is_one_line_with_its_code(place: Path, call: Caller) -> None:
    thread = call.thread("hello")
    done = turnback("restore", thread, "ffffffff", cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"not_found: .*\n", done.stderr)


def test_cleanup_goes_through_the_server(place: Path, server: Running) -> None:
    done = turnback("cleanup", "--dry-run", "--json", cwd=place)
    assert json.loads(done.stdout)["steps"] == 0
    assert turnback("cleanup", cwd=place).returncode == 0
    assert any("clean-up done" in line for line in server.lines)


def test_second_server_on_the_folder_gets_one_line(place: Path, server: Running) -> None:
    done = turnback("serve", "--port", "0", cwd=place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "in use by another Turnback" in done.stderr


def test_restore_backup_is_refused_while_a_server_runs(place: Path, server: Running) -> None:
    assert turnback("backup", "copy.db", cwd=place).returncode == 0
    assert stat.S_IMODE((place / "copy.db").stat().st_mode) == 0o600
    done = turnback("restore-backup", "copy.db", cwd=place)
    assert done.returncode == 1
    assert "in use" in done.stderr


def test_log_holds_neither_texts_nor_secrets(place: Path, server: Running, call: Caller, token: str) -> None:
    call.thread("PURPLE-OTTER-77")
    log = "".join(server.lines)
    assert "PURPLE-OTTER-77" not in log
    assert token.strip() not in log
    assert json.loads((place / "data" / "server.json").read_text())["token"] not in log
    assert all(json.loads(line) for line in server.lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_server_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with serving(cwd=tmp_path) as running:
        file = tmp_path / "data" / "server.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text())["url"] == running.url
        assert running.end(number) == 0
        assert not file.exists()
    left = {path.name for path in (tmp_path / "data").iterdir()}
    assert left <= {"turnback.db", "steps.db", "turnback.lock", "workspaces"}


def test_signal_during_a_turn_ends_the_server_in_time_and_keeps_its_steps(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running:
        token = token_of(tmp_path)
        with calling(running.url, token) as call:
            thread = call.thread("hello")
            call("POST", f"/api/threads/{thread}/messages", {"text": "slow 30"})
            assert running.end() == 0
    listing = json.loads(turnback("steps", "list", thread, "--json", cwd=tmp_path).stdout)
    assert len(listing["snapshots"]) == 1


def test_request_that_waits_for_a_turn_is_answered_when_the_server_ends(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running, calling(running.url, token_of(tmp_path)) as call:
        thread = call.thread("hello")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(call, "POST", f"/api/threads/{thread}/messages?wait=true", {"text": "slow 30"})
            deadline = time.monotonic() + 10
            while "slow 30" not in json.dumps(call("GET", f"/api/threads/{thread}/messages")):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert running.end() == 0
            assert waiting.result()["status"] == "interrupted"


def test_commands_find_no_server_in_what_a_killed_one_left(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running:
        token = token_of(tmp_path)
        with calling(running.url, token) as call:
            thread = call.thread("hello", "again")
        running.end(signal.SIGKILL)
    assert (tmp_path / "data" / "server.json").exists()
    assert turnback("undo", thread, cwd=tmp_path).returncode == 0
    with serving(cwd=tmp_path) as running:
        assert json.loads((tmp_path / "data" / "server.json").read_text())["url"] == running.url


def test_demo_prints_one_link_that_signs_an_admin_in(tmp_path: Path) -> None:
    with serving("--data", "here", cwd=tmp_path, command="demo") as running:
        assert running.process.stdout is not None
        link = running.process.stdout.readline().strip()
        assert link.startswith(f"{running.url}/login?link=")
        with calling(running.url, token_of(tmp_path, "--data", "here")) as call:
            assert call("GET", "/api/settings")["settings"]
        assert running.end() == 0
    assert (tmp_path / "here" / "turnback.db").is_file()
    assert not (tmp_path / "data").exists()


def test_port_in_use_is_one_line(tmp_path: Path, server: Running) -> None:
    done = turnback("serve", "--port", server.url.rpartition(":")[2], cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot listen" in done.stderr.splitlines()[-1]


def test_page_setting_counts_after_a_restart(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as running:
        token = token_of(tmp_path, "--admin")
        with calling(running.url, token) as call:
            call("PATCH", "/api/settings", {"time_travel.retention_days": 7, "agent.approval_timeout": 30})
        running.end()
    with serving(cwd=tmp_path) as running, calling(running.url, token) as call:
        rows = {row["key"]: row for row in call("GET", "/api/settings")["settings"]}
    assert (rows["time_travel.retention_days"]["running"], rows["agent.approval_timeout"]["running"]) == (7, 30)
    assert rows["agent.approval_timeout"]["restart_needed"] is False
