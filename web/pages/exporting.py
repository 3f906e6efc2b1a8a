"""Lines of the audit trail as files: CSV for spreadsheets, JSON Lines for programs."""

from __future__ import annotations

import csv
import io

from turnback.core import shapes
from turnback.core.models import AuditEntry
from turnback.web.answers import dumps

COLUMNS = ("at", "actor", "account", "surface", "action", "thread_id", "snapshot_id", "head_before", "outcome", "code")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What spreadsheets take for the beginning of a formula; full-width ones, too (OWASP, "CSV Injection")."""


def csv_line(entry: AuditEntry) -> bytes:
    """A row of RFC 4180."""
    shape = _shape(entry)
    return _row([_cell(shape[column]) for column in COLUMNS])


def json_line(entry: AuditEntry) -> bytes:
    """An object, and a newline."""
    return dumps(_shape(entry)) + b"\n"


def _shape(entry: AuditEntry) -> dict[str, str | None]:
    """The shape of the API, with the account's id."""
    shape = shapes.audit_json(entry)
    return {column: entry.account if column == "account" else shape[column] for column in COLUMNS}


def _cell(value: str | None) -> str:
    """People choose their names: none may begin a formula where the file is opened."""
    text = value or ""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _row(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode()


CSV_HEAD = _row(list(COLUMNS))
