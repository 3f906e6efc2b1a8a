"""The JSON of Turnback's values, the same in answers, events and exports.

Ids are strings; times are RFC 3339, UTC, milliseconds, `Z`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from turnback.core.answers import Fork, Listing, Preview, Rewound
from turnback.core.errors import Refusal
from turnback.core.models import (
    AuditEntry,
    Effect,
    Fact,
    ForkedFrom,
    Gate,
    StepView,
    Thread,
    TranscriptRow,
    TurnView,
)
from turnback.core.steps.store import Usage

Json = dict[str, Any]


def time_json(at: datetime) -> str:
    """`2026-11-30T12:00:00.000Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def step_json(view: StepView) -> Json:
    """A step as its thread sees it."""
    step = view.step
    return {
        "id": step.id,
        "thread_id": step.thread_id,
        "turn_index": step.turn_index,
        "turn_no": step.turn_no,
        "iteration": step.iteration,
        "number": step.number,
        "created_at": time_json(step.created_at),
        "model": step.model,
        "kind": step.kind.value,
        "summary": step.summary,
        "tools": list(step.tools),
        "message_count": step.message_count,
        "bytes": step.bytes,
        "stored_bytes": step.stored_bytes,
        "truncated": step.truncated,
        "label": step.label,
        "workspace": step.workspace,
        "branch": step.at.branch,
        "parent": view.parent,
        "has_branches": view.has_branches,
        "on_path": view.on_path,
        "head": view.head,
    }


def forked_from_json(forked_from: ForkedFrom | None) -> Json | None:
    """Where a fork came from, or null."""
    if forked_from is None:
        return None
    return {"thread_id": forked_from.thread_id, "snapshot_id": forked_from.snapshot_id}


def thread_json(thread: Thread) -> Json:
    """A thread."""
    return {
        "thread_id": thread.id,
        "title": thread.title,
        "surface": thread.surface.value,
        "owner": thread.owner,
        "created_at": time_json(thread.created_at),
        "updated_at": time_json(thread.updated_at),
        "forked_from": forked_from_json(thread.forked_from),
        "turn_running": thread.running_turn is not None,
        "spent": {"tokens": thread.spent.tokens, "usd": thread.spent.usd},
    }


def thread_steps_json(thread: Thread, usage: Usage | None) -> Json:
    """A thread in the list of threads with steps."""
    return {
        "thread_id": thread.id,
        "title": thread.title,
        "surface": thread.surface.value,
        "steps": usage.steps if usage else 0,
        "stored_bytes": usage.stored_bytes if usage else 0,
        "last_step_at": time_json(usage.last_step_at) if usage and usage.last_step_at else None,
        "forked_from": forked_from_json(thread.forked_from),
        "turn_running": thread.running_turn is not None,
    }


def turn_json(view: TurnView) -> Json:
    """A turn of a listing."""
    return {
        "turn_index": view.turn.turn_index,
        "turn_no": view.turn.turn_no,
        "summary": view.turn.summary,
        "on_path": view.on_path,
        "steps": [{"id": s.step.id, "number": s.step.number} for s in view.steps],
    }


def listing_json(listing: Listing) -> Json:
    """A thread's steps."""
    return {
        "thread_id": listing.thread.id,
        "head": listing.head,
        "snapshots": [step_json(s) for s in listing.steps],
        "turns": [turn_json(t) for t in listing.turns],
    }


def effect_json(effect: Effect) -> Json:
    """A tool call whose effect stays."""
    return {"tool": effect.tool, "args": effect.args, "turn_index": effect.turn_index, "number": effect.number}


def rewound_json(rewound: Rewound) -> Json:
    """What a restore, undo, redo or reset did."""
    return {
        "head": rewound.head.step.id if rewound.head else None,
        "turn_index": rewound.turn_index,
        "turns_set_aside": rewound.turns_set_aside,
        "turns_brought_back": rewound.turns_brought_back,
        "effects": [effect_json(e) for e in rewound.effects],
        "rescue": rewound.rescue,
    }


def preview_json(preview: Preview) -> Json:
    """What a restore would do; `files` is null until a workspace's files are part of steps."""
    refusal = preview.refusal
    return {
        **rewound_json(preview.rewound),
        "files": None,
        "refusal": problem_json(refusal) if isinstance(refusal, Refusal) else None,
    }


def fork_json(fork: Fork, url: str) -> Json:
    """A fork."""
    return {
        "thread_id": fork.thread.id,
        "title": fork.thread.title,
        "url": url,
        "forked_from": forked_from_json(fork.forked_from),
    }


def message_json(row: TranscriptRow, *, set_aside: bool | None = None) -> Json:
    """A transcript row; `set_aside` is there where all rows were asked for."""
    shape: Json = {
        "id": row.id,
        "turn_index": row.turn_index,
        "role": row.role,
        "text": row.text,
        "created_at": time_json(row.created_at),
    }
    return shape if set_aside is None else {**shape, "set_aside": set_aside}


def gate_json(gate: Gate) -> Json:
    """An approval that is waited for."""
    return {"id": gate.id, "tool": gate.tool, "args": gate.args, "expires_at": time_json(gate.expires_at)}


def fact_json(fact: Fact) -> Json:
    """A remembered fact."""
    return {
        "id": fact.id,
        "text": fact.text,
        "turn_index": fact.turn_index,
        "created_at": time_json(fact.created_at),
    }


def audit_json(entry: AuditEntry) -> Json:
    """A line of the audit trail."""
    return {
        "at": time_json(entry.at),
        "actor": entry.actor,
        "surface": entry.surface.value,
        "action": entry.action.value,
        "thread_id": entry.thread_id,
        "snapshot_id": entry.snapshot_id,
        "head_before": entry.head_before,
        "outcome": entry.outcome.value,
        "code": entry.code,
    }


def problem_json(refusal: Refusal) -> Json:
    """A refusal as an RFC 9457 problem document."""
    return {
        "type": f"urn:turnback:problem:{refusal.code}",
        "title": refusal.code.replace("_", " ").capitalize(),
        "status": refusal.status,
        "detail": refusal.detail,
        "code": refusal.code,
        **refusal.extra,
    }


def candidates_json(views: Sequence[StepView]) -> list[Mapping[str, Any]]:
    """The steps that an ambiguous reference could mean."""
    return [
        {"id": v.step.id, "turn_index": v.step.turn_index, "number": v.step.number, "summary": v.step.summary}
        for v in views
    ]
