"""`turnback chat` as people and scripts use it: the real program, a real server, a real terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pexpect
import pytest
from support.servers import START_SECONDS

SHORT = r"[0-9a-f]{8}"
TURNBACK = [sys.executable, "-m", "turnback.cli"]

Talk = Callable[..., str]


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TURNBACK_") and "PROXY" not in k.upper()}
    return {**clean, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TURNBACK_AGENT__SHELL": "unconfined",
            "PYTHONUTF8": "1", "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, env: dict[str, str]) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [*TURNBACK, "serve", "--port", "0", "--data", str(folder)], env=env, stdout=log, stderr=log
    )
    deadline = time.monotonic() + START_SECONDS
    while not (folder / "server.json").exists():
        assert server.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield folder
    server.terminate()
    assert server.wait(15) == 0
    log.close()


@pytest.fixture
def talk(data: Path, env: dict[str, str], request: pytest.FixtureRequest) -> Talk:
    """Lines in, everything said out; each test is a person of its own."""

    def run(*lines: str, account: str = request.node.name) -> str:
        typed = "".join(f"{line}\n" for line in lines)
        done = subprocess.run(
            [*TURNBACK, "chat", "--data", str(data), "--account", account],
            input=typed, env=env, capture_output=True, text=True, check=False, timeout=90,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return run


@pytest.fixture
def screen(data: Path, env: dict[str, str], request: pytest.FixtureRequest) -> Iterator[pexpect.spawn[str]]:
    """The same with a person at a terminal."""
    child: pexpect.spawn[str] = pexpect.spawn(
        TURNBACK[0], [*TURNBACK[1:], "chat", "--data", str(data), "--account", request.node.name],
        env=env, encoding="utf-8", timeout=30, dimensions=(50, 160),
    )  # fmt: skip
    child.expect("›")
    yield child
    child.close(force=True)


def wait_until_running(data: Path, env: dict[str, str], account: str) -> None:
    """Wait until a turn runs in a chat of an account."""
    token = subprocess.run(
        [*TURNBACK, "token", "--data", str(data), "--account", account],
        env=env, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    deadline = time.monotonic() + 30
    with httpx2.Client(base_url=url_of(data), headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http:
        while not any(t["turn_running"] for t in http.get("/api/threads").json()["threads"]):
            assert time.monotonic() < deadline


def url_of(data: Path) -> str:
    return str(json.loads((data / "server.json").read_text())["url"])


def ids(text: str) -> list[str]:
    return re.findall(rf"turn \d+, step \d+ · ({SHORT})", text)


def test_a_script_talks_lists_restores_and_brings_back(talk: Talk) -> None:
    first, second = ids(talk("one", "two", "/replay list"))
    said = talk(f"/replay {first}", "history", "/undo", f"/replay {second.upper()}", "/1", "history")
    assert f"Back at turn 1, step 1 ({first}): one" in said
    assert "1 turn set aside." in said
    assert "1. one\n" in said
    assert f"Back at turn 2, step 1 ({second}): two" in said
    assert "/1 Bring back" in said
    assert "Brought back. Now at turn 1" in said
    assert "from elsewhere" not in said


def test_answers_stand_in_order_between_the_lines_of_a_script(talk: Talk) -> None:
    said = talk("alpha", "steps 3", "beta")
    assert re.search(r"You said: alpha\ndone 3\nYou said: beta\n$", said), said


def test_a_script_forks_continues_there_and_goes_back(talk: Talk) -> None:
    said = talk("one", "/fork", "/2", "only in the fork", "/chats")
    assert "⑂ one" in said
    assert "You said: only in the fork" in said
    origin = re.search(rf"^({SHORT}) · one", said, re.MULTILINE)
    assert origin, said
    back = talk(f"/switch {origin[1]}", "history")
    assert back.rstrip().endswith("1. one")


def test_clear_asks_and_takes_no_and_yes(talk: Talk) -> None:
    said = talk("one", "/replay clear", "n", "/replay", "/replay clear", "y", "/replay")
    assert re.search(r"Nothing was done\.\n1 step saved here", said), said
    assert re.search(r"Deleted 1 step\. .*\nNo steps are saved here yet", said), said


def test_delete_begins_a_new_chat(talk: Talk) -> None:
    said = talk("one", "/delete", "y", "history")
    assert re.search(rf"Deleted this chat.*\nNew chat \({SHORT}\)\n", said), said


def test_an_approval_is_asked_for_and_denied_or_approved(talk: Talk) -> None:
    said = talk("shell echo one-two", "n", "shell echo thr''ee", "/undo", "y")
    denied, approved = said.split("Approve? y/n\n")[1:]
    assert not re.search(r"^one-two$", denied, re.MULTILINE)
    assert "An approval is waiting." in approved
    assert re.search(r"^three$", approved, re.MULTILINE)


def test_odd_spellings_are_understood_and_unknown_words_are_answered(talk: Talk) -> None:
    first, _ = ids(talk("one", "two", "/replay list"))
    said = talk(f"/REPLAY\u00a0SHOW “{first.upper()}”\u200b.", "/replay list2", "/replay 3", "/diff", "!nice work")
    assert f"turn 1, step 1 · {first}" in said
    assert "Did you mean /replay list?" in said
    assert "“3” is too short for a step" in said
    assert "“/diff” is not something I know" in said
    assert "You said: !nice work" in said


def test_a_model_cannot_steer_the_terminal(talk: Talk) -> None:
    said = talk("\x1b]0;owned\x07 \u202e hi", "/replay list")
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_script_that_is_interrupted_stops_the_turn_and_goes_on(data: Path, env: dict[str, str]) -> None:
    child = subprocess.Popen(
        [*TURNBACK, "chat", "--data", str(data), "--account", "interrupter"],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert child.stdin
    assert child.stdout
    child.stdout.readline()
    child.stdin.write("slow 60\n")
    wait_until_running(data, env, "interrupter")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate("after\n", timeout=30)
    assert child.returncode == 0
    assert "You said: after" in out
    assert "slept" not in out


def test_a_server_that_is_not_there_is_one_line_and_exit_1(env: dict[str, str]) -> None:
    done = subprocess.run(
        [*TURNBACK, "chat", "--url", "http://127.0.0.1:9", "--token", "x"],
        input="", env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "does not answer" in done.stderr


def test_a_wrong_token_is_one_line_and_exit_1(data: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        [*TURNBACK, "chat", "--url", url_of(data), "--token", "wrong"],
        input="hi\n", env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


def test_a_person_talks_and_completes_a_step(screen: pexpect.spawn[str]) -> None:
    screen.sendline("hello you")
    screen.expect("You said: hello you")
    screen.sendline("/replay list")
    screen.expect(rf"turn 1, step 1 · ({SHORT})")
    assert isinstance(screen.match, re.Match)
    step = screen.match.group(1)
    screen.send(f"/replay show {step[:3]}\t")
    screen.expect(step[3:])
    screen.send("\r")
    screen.expect("Asked: hello you")


def test_a_person_leaves_with_ctrl_d(screen: pexpect.spawn[str]) -> None:
    screen.sendeof()
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 0


def test_a_person_is_refused_during_a_turn_and_stops_it_with_ctrl_c(
    screen: pexpect.spawn[str], data: Path, env: dict[str, str], request: pytest.FixtureRequest
) -> None:
    screen.sendline("one")
    screen.expect("You said: one")
    screen.sendline("slow 60")
    wait_until_running(data, env, request.node.name)
    screen.sendline("/undo")
    screen.expect("A turn is running")
    screen.sendintr()
    screen.sendline("/replay list")
    screen.expect("Turn 2: slow 60|turn 1, step 1")
    screen.sendline("after")
    screen.expect("You said: after")


def test_a_person_approves_with_y(screen: pexpect.spawn[str]) -> None:
    screen.sendline("shell echo al''pha")
    screen.expect("Approve")
    screen.sendline("y")
    screen.expect("alpha")


def test_history_file_keeps_commands_only(screen: pexpect.spawn[str], env: dict[str, str]) -> None:
    screen.sendline("a private word")
    screen.expect("You said: a private word")
    screen.sendline("/undo")
    screen.expect("Took 1 turn back")
    screen.sendline("/quit")
    screen.expect(pexpect.EOF)
    kept = (Path(env["XDG_STATE_HOME"]) / "turnback" / "history").read_text()
    assert "/undo" in kept
    assert "private" not in kept
