"""OpenAPI, true to the answers: which problems each route may answer with."""

from __future__ import annotations

from typing import Any

from turnback.web.problems import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]

_MEANINGS = {
    401: "`unauthorized`: no token or session, or one that is not known (any more).",
    403: "`forbidden`: not for this account, or from a page or under a name that is not ours.",
    404: "`not_found`: no such thing, or somebody else's.",
    405: "`method_not_allowed`",
    409: (
        "`turn_running`, `approval_pending` (with `gates`), `snapshot_truncated`, `step_gone`, `workspace_changed` "
        "(with `files` and `files_token`), `ambiguous_step` (with `candidates`), `nothing_to_undo`, "
        "`nothing_to_redo`, `too_many_labels`"
    ),
    413: "`invalid_request`: the body is too big.",
    422: "`invalid_request`: the detail names the field.",
    429: "`rate_limited`",
    503: "`store_unavailable`",
}

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def problems(*statuses: int) -> Responses:
    """The problems of a route, for its `responses`."""
    return {status: {"description": _MEANINGS[status], "content": _PROBLEM} for status in statuses}


LOOK = problems(401, 403, 404, 409, 422, 503)
"""What a question may be answered with."""

ACT = problems(401, 403, 404, 409, 413, 422, 503)
"""What a change may be answered with."""
