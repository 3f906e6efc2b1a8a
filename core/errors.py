"""Every refusal: an operation that cannot happen now, and what to do about it.

One class each. The docstring is the message that users see; `code` and `status` are the same on
every surface. They are caught in two places only, the chat's dispatch and the web's handler;
anything else that is raised is a bug.

    Refusal
    ├── Unauthorized            401 unauthorized
    ├── Forbidden               403 forbidden
    ├── NotFound                404 not_found
    ├── TurnRunning             409 turn_running
    ├── ApprovalPending         409 approval_pending (+ gates)
    ├── SnapshotTruncated       409 snapshot_truncated
    ├── StepGone                409 step_gone
    ├── WorkspaceChanged        409 workspace_changed (+ files, files_token)
    ├── AmbiguousStep           409 ambiguous_step (+ candidates)
    ├── NothingToUndo           409 nothing_to_undo
    ├── NothingToRedo           409 nothing_to_redo
    ├── TooManyLabels           409 too_many_labels
    ├── InvalidRequest          422 invalid_request
    ├── RateLimited             429 rate_limited
    └── StoreUnavailable        503 store_unavailable
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class Refusal(Exception):
    """That cannot be done now."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 409

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail or inspect.cleandoc(type(self).__doc__ or "").replace("\n", " ")
        super().__init__(self.detail)

    @property
    def extra(self) -> Mapping[str, Any]:
        """What the problem document holds beside the common fields: JSON values."""
        return {}


class Unauthorized(Refusal):
    """Sign in first."""

    code, status = "unauthorized", 401


class Forbidden(Refusal):
    """You may not do that here."""

    code, status = "forbidden", 403


class NotFound(Refusal):
    """There is no such thing here."""

    code, status = "not_found", 404


class TurnRunning(Refusal):
    """A turn is running. Wait until it ends, or stop it with /stop, then try again."""

    code = "turn_running"


class ApprovalPending(Refusal):
    """An approval is waiting. Approve or deny it, or stop the turn with /stop, then try again."""

    code = "approval_pending"

    def __init__(self, gates: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.gates = tuple(gates)

    @property
    def extra(self) -> Mapping[str, Any]:
        return {"gates": list(self.gates)}


class SnapshotTruncated(Refusal):
    """That step was too big and was saved with parts cut: it can be read and compared, not restored or forked."""

    code = "snapshot_truncated"


class StepGone(Refusal):
    """What that would go back to is no longer kept."""

    code = "step_gone"


class WorkspaceChanged(Refusal):
    """Files were changed by somebody else since. Confirm to go on."""

    code = "workspace_changed"

    def __init__(self, files: Sequence[Mapping[str, str]], files_token: str) -> None:
        super().__init__()
        self.files, self.files_token = tuple(files), files_token

    @property
    def extra(self) -> Mapping[str, Any]:
        return {"files": list(self.files), "files_token": self.files_token}


class AmbiguousStep(Refusal):
    """Several steps begin like that. Give more characters."""

    code = "ambiguous_step"

    def __init__(self, candidates: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.candidates = tuple(candidates)

    @property
    def extra(self) -> Mapping[str, Any]:
        return {"candidates": list(self.candidates)}


class NothingToUndo(Refusal):
    """There is nothing to undo: this is where the conversation begins."""

    code = "nothing_to_undo"


class NothingToRedo(Refusal):
    """There is nothing to redo."""

    code = "nothing_to_redo"


class TooManyLabels(Refusal):
    """This chat has 10 labels already. Take one off first."""

    code = "too_many_labels"


class InvalidRequest(Refusal):
    """That request is not understood."""

    code, status = "invalid_request", 422


class RateLimited(Refusal):
    """Too many tries. Wait a minute, then try again."""

    code, status = "rate_limited", 429


class StoreUnavailable(Refusal):
    """The saved steps cannot be read or written now. The conversation goes on; the admin can run `turnback check`."""

    code, status = "store_unavailable", 503
