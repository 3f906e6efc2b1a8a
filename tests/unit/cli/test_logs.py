"""The log."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

from turnback.cli.logs import configure_logs


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logs(stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_log_without_a_terminal_is_one_json_object_a_line(stream: io.StringIO) -> None:
    structlog.get_logger("here").warning("something", thread="t1", surface="api")
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["thread"], line["surface"]) == ("something", "warning", "t1", "api")
    assert str(line["timestamp"]).endswith("Z")


def test_log_of_an_exception_stays_one_line(stream: io.StringIO) -> None:
    try:
        raise OSError("no")
    except OSError:
        structlog.get_logger().exception("it broke")
    (line,) = lines(stream)
    assert "OSError: no" in str(line["exception"])


@pytest.mark.parametrize("log", [structlog.get_logger("ours"), logging.getLogger("a.library")])
def test_log_of_an_exception_says_where_and_what_but_not_its_words(stream: io.StringIO, log: logging.Logger) -> None:
    said = "what Ann wrote"
    try:
        try:
            raise ValueError(said)
        except ValueError as error:
            raise RuntimeError(said) from error
    except RuntimeError:
        log.exception("it broke")
    (line,) = lines(stream)
    assert "test_logs.py" in str(line["exception"])
    assert str(line["exception"]).index("builtins.ValueError") < str(line["exception"]).index("builtins.RuntimeError")
    assert said not in stream.getvalue()


def test_log_blanks_what_must_not_be_logged(stream: io.StringIO) -> None:
    structlog.get_logger().info("event", token="s3cret", text="hello", link="l")
    assert "s3cret" not in stream.getvalue()
    assert "hello" not in stream.getvalue()


def test_log_of_libraries_has_the_same_form(stream: io.StringIO) -> None:
    logging.getLogger("apscheduler").warning("missed %s", "it")
    (line,) = lines(stream)
    assert (line["event"], line["logger"]) == ("missed it", "apscheduler")


def test_access_log_is_off(stream: io.StringIO) -> None:
    logging.getLogger("uvicorn.access").warning("GET /login?link=s3cret")
    assert stream.getvalue() == ""
