"""The rules of the house that no single module can keep: imports, locks, public names, sizes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnback.config
import turnback.core

ROOT = Path(__file__).parent.parent
ROOMS = ("bots", "cli", "config", "core", "web")
LONGEST_MODULE = 500


def sources(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        yield from sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


def test_nothing_imports_a_room_by_its_bare_name() -> None:
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in sources(*ROOMS, "tests", "bench")
        for name in imported(path)
        if name.split(".")[0] in ROOMS
    }
    assert found == set()


def test_only_the_sqlite_module_imports_aiosqlite() -> None:
    users = {str(path.relative_to(ROOT)) for path in sources(*ROOMS) if "aiosqlite" in imported(path)}
    assert users == {"core/sqlite.py"}


PLATFORM_LIBRARIES = {
    "telegram": "telegram",
    "telegramify_markdown": "telegram",
    "discord": "discord",
    "slack_bolt": "slack",
    "slack_sdk": "slack",
}


@pytest.mark.parametrize(("library", "adapter"), PLATFORM_LIBRARIES.items())
def test_platform_library_stays_in_its_adapter(library: str, adapter: str) -> None:
    users = {path for path in sources(*ROOMS) for name in imported(path) if name.split(".")[0] == library}
    assert {str(path.relative_to(ROOT)) for path in users if not path.is_relative_to(ROOT / "bots" / adapter)} == set()


def test_settings_come_from_the_environment_through_config_only() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in sources("core", "bots", "web")
        if "TURNBACK_" in path.read_text(encoding="utf-8")
    }
    assert readers == set()


def test_import_rules_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("room", ROOMS)
def test_package_is_made_of_links_to_the_rooms(room: str) -> None:
    link = ROOT / "src" / "turnback" / room
    assert link.is_symlink()
    assert str(link.readlink()) == f"../../{room}"


def test_package_holds_nothing_else() -> None:
    names = {path.name for path in (ROOT / "src" / "turnback").iterdir()} - {"__pycache__"}
    assert names == {"__init__.py", "py.typed", *ROOMS}


def test_modules_can_be_read_top_to_bottom() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources(*ROOMS)
        if (lines := path.read_text(encoding="utf-8").count("\n")) > LONGEST_MODULE
    }
    assert long == {}


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(*ROOMS)
        if (text := path.read_text(encoding="utf-8")).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_lock_pins_everything_by_hash_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"--(extra-)?index-url|--find-links|-i ", text)
    entries = re.split(r"\n(?=\S)", text.strip())
    assert [e for e in entries if not re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", e) or "--hash=sha256:" not in e] == []


def test_lock_holds_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = {re.split(r"[=\[]", line)[0].lower() for line in (ROOT / "requirements.lock").read_text().splitlines()}
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    missing = [
        name
        for spec in wanted
        if (name := re.sub(r"[-_.]+", "-", re.split(r"[<>=\[~ ]", spec)[0].lower())) not in locked
    ]
    assert missing == []


def test_runtime_lock_is_part_of_the_development_lock() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[\w.-]+==[^\s\\;]+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))

    assert pins("requirements.lock") <= pins("requirements-dev.lock")


def test_public_names_are_these() -> None:
    assert turnback.core.__all__ == ["Turnback", "open_service"]
    assert all(hasattr(turnback.core, name) for name in turnback.core.__all__)
    assert turnback.config.__all__ == ["LiveSettings", "Loaded", "Settings", "SettingsError", "load"]


def test_core_has_nothing_else_on_demand() -> None:
    with pytest.raises(AttributeError):
        turnback.core.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "late"),
    [("turnback.cli.app", {"fastapi", "pydantic_ai"}), ("turnback.core.agents.demo", {"aiohttp", "openai"})],
)
def test_what_takes_long_to_load_waits_until_it_is_used(module: str, late: set[str]) -> None:
    told = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert late & set(done.stdout.split()) == set()
