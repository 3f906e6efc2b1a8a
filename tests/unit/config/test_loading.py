"""Where settings come from, and what is said about bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnback.config import SettingsError, load
from turnback.config.keys import KEYS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "turnback.toml"


def lines_of(file: Path | None, **kwargs: object) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load(file, **{"environment": {}, **kwargs})  # type: ignore[arg-type]
    return caught.value.lines


def test_load_without_anything_gives_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load(environment={})
    assert {key: loaded.value(key) for key in KEYS} == {name: key.default for name, key in KEYS.items()}
    assert {loaded.source(key) for key in KEYS} == {"default"}


def test_load_takes_the_file_of_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "turnback.toml").write_text("[web]\nport = 1234\n")
    assert load(environment={}).settings.web.port == 1234


def test_stronger_sources_win(file: Path) -> None:
    file.write_text("[time_travel]\nretention_days = 4\nmax_snapshots = 4\nmax_per_turn = 4\nmax_thread_bytes = 4\n")
    loaded = load(
        file,
        environment={"TURNBACK_TIME_TRAVEL__RETENTION_DAYS": "2", "TURNBACK_TIME_TRAVEL__MAX_SNAPSHOTS": "2"},
        page={"time_travel.retention_days": 3, "time_travel.max_snapshots": 3, "time_travel.max_per_turn": 3},
        options={"time_travel.retention_days": 1},
    )
    values = loaded.settings.time_travel
    assert (values.retention_days, values.max_snapshots, values.max_per_turn, values.max_thread_bytes) == (1, 2, 3, 4)
    sources = [loaded.source(f"time_travel.{k}") for k in ("retention_days", "max_snapshots", "max_per_turn")]
    assert sources == ["command line", "environment", "page"]
    assert loaded.source("time_travel.max_thread_bytes") == "file"


def test_unknown_key_in_the_file_names_file_key_value_and_the_nearest(file: Path) -> None:
    file.write_text("[web]\nprot = 80\n")
    assert lines_of(file) == (f"{file}: unknown key web.prot = 80; did you mean web.port?",)


def test_unknown_key_beside_secrets_does_not_show_its_value(file: Path) -> None:
    file.write_text('[telegram]\ntokn = "123:abc"\n')
    (line,) = lines_of(file)
    assert "123:abc" not in line
    assert "telegram.tokn" in line


def test_unknown_section_is_refused(file: Path) -> None:
    file.write_text("[webb]\nport = 80\n")
    (line,) = lines_of(file)
    assert "webb is not a section" in line


@pytest.mark.parametrize(
    ("toml", "key", "allowed"),
    [
        ("[time_travel]\nretention_days = 0", "time_travel.retention_days = 0", "from 1 to 3650"),
        ("[time_travel]\nretention_days = -1", "time_travel.retention_days = -1", "from 1 to 3650"),
        ("[time_travel]\nretention_days = 1000000000", "time_travel.retention_days", "from 1 to 3650"),
        ('[time_travel]\nretention_days = "30 days"', "'30 days'", "a whole number"),
        ("[time_travel]\nretention_days = 30.0", "30.0", "a whole number"),
        ("[time_travel]\nmax_snapshots = true", "True", "a whole number"),
        ("[time_travel]\nenabled = 1", "time_travel.enabled = 1", "true or false"),
        ('[time_travel]\non_restore = "drop"', "'drop'", "one of keep, discard"),
        ("[web]\nport = 70000", "web.port = 70000", "from 0 to 65535"),
        ('[web]\npublic_url = "chat.example.org"', "web.public_url", "http://"),
        ('[access]\nallow = ["everybody"]', "access.allow", "telegram:*"),
        ('[access]\nallow = ["a", "b"]', "access.allow", "telegram:*"),
        ('[agent]\nkind = "gpt"', "agent.kind = 'gpt'", "demo, pydantic-ai"),
        ("[agent]\napproval_timeout = 0", "agent.approval_timeout = 0", "above 0"),
    ],
)
def test_bad_value_in_the_file_is_one_line(file: Path, toml: str, key: str, allowed: str) -> None:
    file.write_text(toml)
    (line,) = lines_of(file)
    assert line.startswith(f"{file}: ")
    assert key in line
    assert allowed in line


def test_every_bad_value_is_told_at_once(file: Path) -> None:
    file.write_text("[web]\nport = -1\n[time_travel]\nmax_snapshots = 0\n")
    assert len(lines_of(file)) == 2


def test_bad_secret_is_not_shown(file: Path) -> None:
    file.write_text("[agent]\napi_key = 12345678\n")
    (line,) = lines_of(file)
    assert "12345678" not in line


def test_password_in_an_address_is_not_shown(file: Path) -> None:
    file.write_text('[agent]\nbase_url = "ftp://me:geheim@host/"\n')
    (line,) = lines_of(file)
    assert "geheim" not in line


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("TURNBACK_WEB__PORT", "8080", "web.port", 8080),
        ("TURNBACK_TIME_TRAVEL__ENABLED", "off", "time_travel.enabled", False),
        ("TURNBACK_AGENT__APPROVAL_TIMEOUT", "0.5", "agent.approval_timeout", 0.5),
        ("TURNBACK_ACCESS__ADMINS", "ana, telegram:456", "access.admins", ["ana", "telegram:456"]),
        ("TURNBACK_ACCESS__ALLOW", '["telegram:*"]', "access.allow", ["telegram:*"]),
        ("TURNBACK_AGENT__MAX_CONTEXT_TOKENS", "9000", "agent.max_context_tokens", 9000),
        ("TURNBACK_STORAGE__PATH", "42", "storage.path", "42"),
    ],
)
def test_environment_texts_become_values(file: Path, variable: str, text: str, key: str, value: object) -> None:
    file.write_text("")
    assert load(file, environment={variable: text}).value(key) == value


def test_empty_environment_variable_counts_as_not_set(file: Path) -> None:
    file.write_text("")
    assert load(file, environment={"TURNBACK_WEB__PORT": ""}).source("web.port") == "default"


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("TURNBACK_WEB__PORT", "http", "TURNBACK_WEB__PORT: web.port = 'http' is not allowed"),
        ("TURNBACK_WEB__PROT", "1", "did you mean web.port?"),
        ("TURNBACK_WEBB__PORT", "1", "did you mean web.port?"),
        ("TURNBACK_WEB_PORT", "1", "TURNBACK_WEB__PORT"),
    ],
)
def test_bad_environment_variable_is_one_line(file: Path, variable: str, text: str, words: str) -> None:
    file.write_text("")
    (line,) = lines_of(file, environment={variable: text})
    assert words in line


@pytest.mark.parametrize(
    "toml",
    [
        '[storage]\nurl = "postgresql://h/d"',
        '[agent]\nkind = "langgraph"',
    ],
)
def test_feature_that_is_not_built_is_refused(file: Path, toml: str) -> None:
    file.write_text(toml)
    (line,) = lines_of(file)
    assert "yet" in line


def test_workspace_and_access_are_accepted(file: Path) -> None:
    file.write_text('[workspace]\nroot = "/srv/w"\nenabled = false\n[access]\nallow = ["telegram:*", "slack:T0AB"]\n')
    loaded = load(file, environment={})
    assert loaded.settings.workspace.root == "/srv/w"
    assert loaded.settings.access.allow == ["telegram:*", "slack:T0AB"]


def test_pydantic_ai_without_a_model_is_refused(file: Path) -> None:
    file.write_text('[agent]\nkind = "pydantic-ai"\n')
    assert "agent.model" in lines_of(file)[0]


@pytest.mark.parametrize("content", [b"[web", b"port = \xff", b"[web]\nport=1\nport=2"])
def test_unreadable_file_is_one_line(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    (line,) = lines_of(file)
    assert line.startswith(f"{file}: is not")


def test_missing_file_is_one_line(file: Path) -> None:
    assert lines_of(file) == (f"{file}: there is no such file",)


def test_shipped_file_names_only_keys_that_exist() -> None:
    text = Path("config/turnback.toml").read_text(encoding="utf-8")
    section, seen = "", set()
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith("# ") and " = " in line.split("#")[1]:
            seen.add(f"{section}.{line.split()[1]}")
    assert seen
    assert seen <= set(KEYS)
    assert {key for key in KEYS if KEYS[key].built} <= seen
    load(Path("config/turnback.toml"), environment={})
