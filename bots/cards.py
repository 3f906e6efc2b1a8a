"""Approval cards: what would run, and what became of it. Pure functions from events to what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnback.bots.platform import Said
from turnback.bots.replies import Button
from turnback.bots.telling import value_text
from turnback.bots.words import printable, printable_lines
from turnback.core.text import counted

LONGEST = 6000
"""Characters of a call's arguments that are shown; nobody reads more before a press."""

UNSHOWN = "An approval could not be shown here, so it counts as denied."


def card(gate: Mapping[str, Any], now: datetime) -> Said:
    """A card that asks. `gate` is the JSON of an approval."""
    gate_id = gate["id"]
    return Said(
        text=f"Approval needed: {_call(gate)}\n{_until(gate, now)}",
        buttons=(
            Button(label="Approve", command=f"/approve {gate_id}"),
            Button(label="Deny", command=f"/deny {gate_id}"),
        ),
    )


def settled(gate: Mapping[str, Any]) -> Said:
    """The card once it is answered, or too late."""
    by = f" by {printable(str(gate.get('by')), 60)}" if gate.get("by") else ""
    head = {
        "approved": f"Approved{by}",
        "denied": f"Denied{by}",
        "expired": "Nobody approved in time, so it counts as denied",
    }.get(str(gate.get("status")), "No longer waiting")
    return Said(text=f"{head}: {_call(gate)}")


def _call(gate: Mapping[str, Any]) -> str:
    tool, args = printable(str(gate["tool"]), 60), gate.get("args")
    if args in (None, {}, "", []):
        return tool
    if isinstance(args, Mapping):
        text = "\n".join(f"{printable(str(key), 60)}: {value_text(value)}" for key, value in args.items())
    else:
        text = value_text(args)
    shown = printable_lines(text)
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}…\n({len(shown) - LONGEST} more characters are not shown)"
    return f"{tool}\n{shown}"


def _until(gate: Mapping[str, Any], now: datetime) -> str:
    left = (datetime.fromisoformat(str(gate["expires_at"])) - now).total_seconds()
    minutes = max(1, round(left / 60))
    return f"Without an answer within {counted(minutes, 'minute')} it counts as denied."
