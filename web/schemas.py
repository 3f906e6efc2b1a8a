"""The answers as SPEC's appendix has them, for OpenAPI; tests hold them against what is really answered.

Ids are strings in both directions: a number would have been rounded by a browser before we see it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from turnback.core.models import ID

Id = Annotated[str, Field(pattern=f"^{ID.pattern}$")]
Time = Annotated[str, Field(description="RFC 3339, UTC, milliseconds.")]
AnyJson = Annotated[Any, WithJsonSchema({"description": "Any JSON value."})]
JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": True})]


class Reply(BaseModel):
    """The body of an answer."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Step(Reply):
    id: Id
    thread_id: Id
    turn_index: int
    turn_no: int
    iteration: int
    number: int
    created_at: Time
    model: str | None
    kind: Literal["step", "rescue"]
    summary: str
    tools: list[str]
    message_count: int
    bytes: int
    stored_bytes: int
    truncated: bool
    label: str | None
    workspace: str | None
    branch: int
    parent: Id | None
    has_branches: bool
    on_path: bool
    head: bool


class ToolCall(Reply):
    name: str
    args: AnyJson


class ReadableMessage(Reply):
    role: Literal["user", "assistant", "tool", "system"]
    text: str
    tool_calls: list[ToolCall]
    tool_result: AnyJson


class StepDetail(Step):
    state: JsonObject
    messages: list[ReadableMessage]


class ForkedFrom(Reply):
    thread_id: str
    snapshot_id: str


class ThreadSteps(Reply):
    thread_id: Id
    title: str
    surface: str
    steps: int
    stored_bytes: int
    last_step_at: Time | None
    forked_from: ForkedFrom | None
    turn_running: bool


class ThreadsWithSteps(Reply):
    threads: list[ThreadSteps]


class TurnStep(Reply):
    id: Id
    number: int


class Turn(Reply):
    turn_index: int
    turn_no: int
    summary: str
    on_path: bool
    steps: list[TurnStep]


class Snapshots(Reply):
    thread_id: Id
    head: Id | None
    snapshots: list[Step]
    turns: list[Turn]


class Effect(Reply):
    tool: str
    args: AnyJson
    turn_index: int
    number: int


class Rewound(Reply):
    head: Id | None
    turn_index: int
    turns_set_aside: int
    turns_brought_back: int
    effects: list[Effect]
    rescue: Id | None


class PlannedFiles(Reply):
    added: list[str]
    removed: list[str]
    changed: list[str]
    drifted: list[str]


class Problem(BaseModel):
    """RFC 9457; some codes add members of their own: `gates`, `candidates`, `files`, `files_token`."""

    model_config = ConfigDict(strict=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str


class Preview(Rewound):
    files: PlannedFiles | None
    refusal: Problem | None


class Fork(Reply):
    thread_id: Id
    title: str
    url: str
    forked_from: ForkedFrom


class Sides(Reply):
    a: str | None
    b: str | None


class Cost(Reply):
    a: JsonObject
    b: JsonObject
    delta: JsonObject


class ComparedFiles(Reply):
    added: list[str]
    removed: list[str]
    changed: list[str]


class Comparison(Reply):
    a: Id
    b: Id | None
    common_messages: int
    only_a: list[ReadableMessage]
    only_b: list[ReadableMessage]
    changes: list[JsonObject]
    model: Sides
    cost: Cost
    files: ComparedFiles | None
    identical: bool


class Cleared(Reply):
    deleted: int


class Recorded(Reply):
    result: Literal["stored", "truncated", "skipped", "failed"]
    id: Id | None


class Spent(Reply):
    tokens: int
    usd: float


class Thread(Reply):
    thread_id: Id
    title: str
    surface: str
    owner: str
    created_at: Time
    updated_at: Time
    forked_from: ForkedFrom | None
    turn_running: bool
    spent: Spent


class Threads(Reply):
    threads: list[Thread]


class Started(Reply):
    thread_id: Id
    title: str
    url: str


class Message(Reply):
    id: str
    turn_index: int
    role: Literal["user", "assistant", "note"]
    text: str
    created_at: Time
    set_aside: bool = False


class Messages(Reply):
    messages: list[Message]


class Sent(Reply):
    turn_index: int | None
    status: Literal["running", "queued"]


class Gate(Reply):
    id: str
    tool: str
    args: AnyJson
    expires_at: Time


class TurnResult(Reply):
    turn_index: int | None
    status: Literal["done", "approval_pending", "failed", "stopped", "interrupted", "returned", "queued"]
    reply: str | None
    gates: list[Gate]


class Stopped(Reply):
    stopped: bool


class Decided(Reply):
    gate: Gate
    status: Literal["approved", "denied", "expired", "dead"]


class Button(BaseModel):
    """`command` is sent back the same way as it was typed; or a link to open."""

    model_config = ConfigDict(strict=True, extra="allow")

    label: str
    command: str | None = None
    url: str | None = None


class Spoken(Reply):
    text: str
    buttons: list[Button]
    error: str | None


class Fact(Reply):
    id: str
    text: str
    turn_index: int
    created_at: Time


class Memory(Reply):
    facts: list[Fact]


class Setting(Reply):
    key: str
    value: AnyJson
    running: AnyJson
    source: str
    default: AnyJson
    restart_needed: bool
    help: str


class Settings(Reply):
    settings: list[Setting]


class AuditEntry(Reply):
    at: Time
    actor: str
    surface: str
    action: str
    thread_id: str | None
    snapshot_id: str | None
    head_before: str | None
    outcome: Literal["done", "refused", "failed", "reversed"]
    code: str | None


class CleanedUp(Reply):
    before: Time
    steps: int
    threads: int
    compaction: str
    freed_bytes: int


class AuditTrail(Reply):
    entries: list[AuditEntry]


class Health(Reply):
    status: Literal["ok", "degraded", "unavailable"]
