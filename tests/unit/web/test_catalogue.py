"""Settings in people's words, and back."""

from __future__ import annotations

from typing import Any

import pytest

from turnback.config.forms import FormField
from turnback.config.keys import KEYS
from turnback.web.pages.catalogue import GROUPS, label_of, read, size_text, spoken, written


def field(kind: str, key: str = "a.b") -> FormField:
    return FormField(
        key=key,
        kind=kind,  # type: ignore[arg-type]
        value=None,
        running=None,
        default=None,
        source="default",
        choices=(),
        allowed="",
        help="",
        live=True,
        restart_needed=False,
        locked=None,
        variable="",
    )


def parse(_key: str, text: str) -> Any:
    return int(text) if text.isdigit() else text


def test_every_setting_has_a_label_and_a_group() -> None:
    sections = {section for group in GROUPS for section in group.sections}
    assert {key for key in KEYS if label_of(key) == key} == set()
    assert {key.section for key in KEYS.values()} == sections


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("32 MB", 32 * 1024**2),
        ("32mb", 32 * 1024**2),
        (" 1.5 GB ", 1_610_612_736),
        ("2 MiB", 2 * 1024**2),
        ("10 KB", 10240),
        ("1000001 bytes", 1_000_001),
        ("1 byte", 1),
        ("5 B", 5),
        ("33,554,432", 33_554_432),
        ("7", 7),
    ],
)
def test_size_is_read_as_people_write_it(text: str, n: int) -> None:
    assert read(field("size"), text, parse) == n


@pytest.mark.parametrize("text", ["lots", "32 XB", "-1 MB", "1..5 MB", "MB", "1 MB extra", "٣ MB"])
def test_size_that_means_nothing_stays_as_it_is(text: str) -> None:
    assert read(field("size"), text, parse) == text


@pytest.mark.parametrize("n", [1, 1023, 1024, 1_000_000, 33_554_432, 536_870_912, 2**40, 2**53 - 1])
def test_size_is_written_so_that_it_reads_back(n: int) -> None:
    assert read(field("size"), size_text(n), parse) == n


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("switch", True, "on"),
        ("number", 600.0, "600"),
        ("number", 0.5, "0.5"),
        ("list", ["a", "b"], "a\nb"),
        ("text", None, ""),
        ("secret", "(hidden)", ""),
    ],
)
def test_value_is_written_for_its_field(kind: str, value: object, text: str) -> None:
    assert written(field(kind), value) == text


def test_empty_field_is_no_value_and_an_empty_list_is_one() -> None:
    assert read(field("text"), " \r\n", parse) is None
    assert read(field("list"), " \r\n", parse) == []
    assert read(field("list"), "a, b\r\n\r\nc", parse) == ["a", "b", "c"]


def test_prose_and_secrets_are_not_read_as_anything_else() -> None:
    assert read(field("prose"), "12", parse) == "12"
    assert read(field("secret"), "12", parse) == "12"


def test_value_is_told_without_its_secret() -> None:
    assert spoken(field("secret"), "(hidden)") == "set"
    assert spoken(field("secret"), None) == "none"
    assert spoken(field("list"), []) == "none"
    assert spoken(field("number", "time_travel.retention_days"), 7) == "7 days"
