"""Files that come with messages, and the traps that may wait for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.inbox import MAX_BYTES, MAX_FILES, safe_name, take_in
from turnback.bots.platform import Attachment


def attached(name: str, content: bytes = b"x", size: int | None = None) -> Attachment:
    async def fetch() -> bytes:
        return content

    return Attachment(name=name, mime="", size=len(content) if size is None else size, fetch=fetch)


async def test_file_of_a_name_that_is_there_gets_a_number(tmp_path: Path) -> None:
    first, _ = await take_in([attached("a.txt", b"1")], tmp_path)
    second, _ = await take_in([attached("a.txt", b"2"), attached("Makefile"), attached("Makefile")], tmp_path)
    assert (first, second) == (["inbox/a.txt"], ["inbox/a-2.txt", "inbox/Makefile", "inbox/Makefile-2"])
    assert (tmp_path / "inbox/a.txt").read_bytes() == b"1"


async def test_inbox_that_is_a_link_elsewhere_is_not_followed(tmp_path: Path) -> None:
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.mkdir()
    workspace.mkdir()
    (workspace / "inbox").symlink_to(outside)
    paths, lines = await take_in([attached("a.txt")], workspace)
    assert (paths, lines) == ([], ["a.txt could not be saved, so the agent did not get it."])
    assert list(outside.iterdir()) == []


async def test_link_in_the_inbox_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    workspace = tmp_path / "workspace"
    (workspace / "inbox").mkdir(parents=True)
    (workspace / "inbox" / "a.txt").symlink_to(outside)
    paths, _ = await take_in([attached("a.txt")], workspace)
    assert paths == ["inbox/a-2.txt"]
    assert not outside.exists()


async def test_file_whose_size_was_a_lie_is_refused(tmp_path: Path) -> None:
    paths, lines = await take_in([attached("a.bin", b"x" * (MAX_BYTES + 1), size=5)], tmp_path)
    assert paths == []
    assert lines[0].startswith("a.bin is too big")


async def test_too_many_files_are_said(tmp_path: Path) -> None:
    paths, lines = await take_in([attached(f"{n}.txt") for n in range(MAX_FILES + 1)], tmp_path)
    assert (len(paths), lines) == (MAX_FILES, [f"Only the first {MAX_FILES} files were taken."])


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("photo.jpg", "photo.jpg"),
        ("../../etc/passwd", "passwd"),
        ("C:\\docs\\a b.txt", "a b.txt"),
        (".env", "env"),
        ("-rf", "rf"),
        ("", "file"),
        ("..", "file"),
        ("a\x00b\u202egpj.exe", "abgpj.exe"),
        ("$(rm -r).sh", "_(rm -r).sh"),
        ("Übung 😀.pdf", "Übung _.pdf"),
    ],
)
def test_names_harm_nobody(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text())
def test_any_name_becomes_one_file_of_a_folder(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert not safe.startswith((".", "-"))
    assert not set(safe) & set("/\\\0\n")
    assert len(safe.encode()) <= 120
