"""The bodies of requests, strictly read: a field of another type or of another name is refused, and named."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, WithJsonSchema

from turnback.core.text import well_formed
from turnback.web.schemas import AnyJson, JsonObject

LARGEST_COUNT = 1_000_000_000
"""Turns, iterations and the like; far below what a database column holds."""


def _clean(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    """1.0 is an integer to JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, BeforeValidator(_clean)]
"""Any text; lone surrogates become U+FFFD, which every store and model can hold."""

Said = Annotated[str, Field(pattern=r"\S", description="Not blank."), BeforeValidator(_clean)]
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT), BeforeValidator(_whole)]
CountFromOne = Annotated[int, Field(ge=1, le=LARGEST_COUNT), BeforeValidator(_whole)]
LabelText = Annotated[Text, WithJsonSchema({"type": "string", "pattern": r"^[\w-]{1,32}$"})]
"""Checked by the service, whose words are plainer than a pattern."""


class Request(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class StepNamed(Request):
    """A step of a thread: at least 4 characters of its id, or @label."""

    thread_id: Text
    snapshot_id: Text


class Restore(StepNamed):
    confirm_files: Text | None = None


class ForkStep(Request):
    """Without a step: the newest."""

    thread_id: Text
    snapshot_id: Text | None = None


class Compare(Request):
    """Two steps, or without `b`: a step and now."""

    thread_id: Text
    a: Text
    b: Text | None = None
    b_thread_id: Text | None = None


class Rewind(Request):
    """How many turns to undo, or moves to redo."""

    thread_id: Text
    n: CountFromOne = 1
    confirm_files: Text | None = None


class Label(Request):
    """Null takes the label off."""

    label: LabelText | None


class RecordStep(Request):
    """A step that an agent in another process made; `turn_index` counts from 1, `iteration` from 0."""

    turn_index: CountFromOne
    iteration: Count
    model: Text | None = None
    summary: Text | None = None
    state: JsonObject


class NewThread(Request):
    title: Text | None = None


class Rename(Request):
    title: Said


class Say(Request):
    text: Said


class Decide(Request):
    approve: bool


class CleanUp(Request):
    dry_run: bool = False


class Changes(RootModel[dict[str, AnyJson]]):
    """Settings by key; null takes a change back."""
