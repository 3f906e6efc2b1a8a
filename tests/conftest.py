"""What all tests share: a fast place for their files, and programs that some of them need."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

MEMORY = Path("/dev/shm")
MEMORY_WANTED = 4 * 1024**3
"""Bytes that must be free there: a container often has hardly any."""


def pytest_configure() -> None:
    """What tests write lies in memory where there is some: each database waits for the disk many times.

    Tracebacks in logs are plain: the default form takes seconds to draw one, and holds the loop. No example of
    hypothesis fails because the machine was busy.
    """
    settings.register_profile("turnback", deadline=None)
    settings.load_profile("turnback")
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_WANTED:
        os.environ.setdefault("TMPDIR", str(MEMORY))
        tempfile.tempdir = None  # to be looked up anew
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ]
    )


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """A command that ran in this process sent the log to a stream that is gone after its test."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    yield
    structlog.configure(**before)
    root.handlers = handlers
    root.setLevel(level)


@pytest.fixture
def needs_program(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """`needs_program("bwrap")` answers where it is; without it the test is skipped, with CI=true it fails."""

    def find(name: str) -> str:
        found = shutil.which(name)
        if found:
            return found
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(f"{name} is not installed, and CI must not skip {request.node.nodeid}")
        pytest.skip(f"missing program: {name}")

    return find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A last line that names what was not tested for want of a program."""
    skipped = [
        f"{report.nodeid} ({reason[2].removeprefix('Skipped: missing program: ')})"
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(reason := report.longrepr, tuple) and "missing program: " in reason[2]
    ]
    if skipped:
        terminalreporter.write_line(f"Not tested for want of a program: {', '.join(sorted(skipped))}")
