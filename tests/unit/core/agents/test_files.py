"""File tools stay in the workspace, whatever lies there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed
from support.listening import Surroundings

from turnback.core.agents.tools import files

ACTS: list[Callable[[Any, str], str]] = [
    lambda ctx, path: files.read_file(ctx, path),
    lambda ctx, path: files.write_file(ctx, path, "X"),
    lambda ctx, path: files.append_file(ctx, path, "X"),
    lambda ctx, path: files.delete_file(ctx, path),
]


@pytest.fixture
def ctx(context: Surroundings) -> Any:
    return SimpleNamespace(deps=SimpleNamespace(context=context))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    "path", ["../outside/secret", "sub/../../outside/secret", "/etc/hostname", "{outside}/secret", "", ".", "a\0b"]
)
def test_path_out_of_the_workspace_is_refused(ctx: Any, outside: Path, act: Any, path: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        act(ctx, path.format(outside=outside))

    assert "\n" not in caught.value.message
    assert (outside / "secret").read_text() == "secret"


@pytest.mark.parametrize("act", ACTS)
def test_linked_parent_is_not_gone_through(ctx: Any, context: Surroundings, outside: Path, act: Any) -> None:
    (context.workspace / "sub").symlink_to(outside)

    with pytest.raises(ToolFailed, match="links are not followed"):
        act(ctx, "sub/secret")

    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


@pytest.mark.parametrize("act", ACTS[:3])
def test_link_is_not_read_or_written_through(ctx: Any, context: Surroundings, outside: Path, act: Any) -> None:
    (context.workspace / "link").symlink_to(outside / "secret")

    with pytest.raises(ToolFailed, match="links are not followed"):
        act(ctx, "link")

    assert (outside / "secret").read_text() == "secret"


def test_dangling_link_is_not_written_through(ctx: Any, context: Surroundings, outside: Path) -> None:
    (context.workspace / "link").symlink_to(outside / "new")

    for write in (files.write_file, files.append_file):
        with pytest.raises(ToolFailed):
            write(ctx, "link", "X")

    assert not (outside / "new").exists()


def test_deleting_a_link_leaves_what_it_names(ctx: Any, context: Surroundings, outside: Path) -> None:
    (context.workspace / "link").symlink_to(outside / "secret")

    files.delete_file(ctx, "link")

    assert not (context.workspace / "link").is_symlink()
    assert (outside / "secret").exists()


def test_listing_shows_links_without_following_them(ctx: Any, context: Surroundings, outside: Path) -> None:
    (context.workspace / "link").symlink_to(outside)
    (context.workspace / "sub").mkdir()

    assert files.list_files(ctx) == "link\nsub/"
    with pytest.raises(ToolFailed):
        files.list_files(ctx, "link")


def test_second_name_of_a_file_keeps_its_bytes_when_written(ctx: Any, context: Surroundings, outside: Path) -> None:
    os.link(outside / "secret", context.workspace / "name")

    files.write_file(ctx, "name", "X")

    assert (outside / "secret").read_text() == "secret"


def test_pipe_is_refused_at_once(ctx: Any, context: Surroundings) -> None:
    os.mkfifo(context.workspace / "pipe")

    for act in ACTS[:3]:
        with pytest.raises(ToolFailed):
            act(ctx, "pipe")


def test_folder_is_not_a_file(ctx: Any, context: Surroundings) -> None:
    (context.workspace / "sub").mkdir()

    for act in ACTS:
        with pytest.raises(ToolFailed):
            act(ctx, "sub")


def test_written_file_keeps_its_mode_and_leaves_nothing_beside(ctx: Any, context: Surroundings) -> None:
    script = context.workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o750)

    files.write_file(ctx, "run.sh", "new")

    assert script.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in context.workspace.iterdir()] == ["run.sh"]


def test_long_file_is_shown_in_part(ctx: Any, context: Surroundings) -> None:
    (context.workspace / "long").write_bytes(b"x" * (files.MAX_READ + 5))

    text = files.read_file(ctx, "long")

    assert text.endswith(f"[the first {files.MAX_READ} of {files.MAX_READ + 5} bytes]")


def test_bytes_that_are_no_text_are_readable(ctx: Any, context: Surroundings) -> None:
    (context.workspace / "b").write_bytes(b"\xff\x00a")
    (context.workspace / os.fsdecode(b"n\xff")).touch()

    assert files.read_file(ctx, "b") == "\ufffd\0a"
    assert files.list_files(ctx).encode("utf-8")


def test_descriptors_are_closed(ctx: Any, context: Surroundings) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))

    for act in ACTS:
        with pytest.raises(ToolFailed):
            act(ctx, "no/../such")
    files.write_file(ctx, "a/b/c", "X")
    files.read_file(ctx, "a/b/c")
    files.list_files(ctx, "a/b")

    assert len(list(Path("/proc/self/fd").iterdir())) == before
