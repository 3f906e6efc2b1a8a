"""Settings, for admins: every one with what it is and what runs, all saved together or none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from turnback.core.errors import InvalidRequest, StoreUnavailable
from turnback.core.maintenance import Cleanup
from turnback.web.pages import catalogue
from turnback.web.pages.catalogue import GROUPS, PLATFORM_SECTIONS, RETENTION, Group
from turnback.web.pages.frame import Page, PageAskedByAdmin, page_router
from turnback.web.pages.storage import look_at_storage
from turnback.web.parts import PlatformStatus, SettingField

router = page_router()

CONFIRM = "confirm_retention"
"""The form field with the days of a lower retention that somebody has seen the consequences of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A setting on the page. `text` is what stands in its field, which may not be saved yet."""

    field: SettingField
    label: str
    hint: str
    unit: str
    text: str
    running: str
    value: str
    problem: str | None
    dirty: bool

    @property
    def id(self) -> str:
        """Its element's id."""
        return self.field.key.replace(".", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGroup:
    """A group with its settings, and the platforms in it."""

    group: Group
    settings: tuple[Shown, ...]
    platforms: tuple[PlatformStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A lower retention that is about to be set, and what it would delete (None: that cannot be counted)."""

    days: int
    would: Cleanup | None
    daily: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody has typed and not saved: by key, with what is wrong with it."""

    texts: Mapping[str, str]
    problems: Mapping[str, str]


NOTHING = Draft(texts={}, problems={})


@router.get("/settings")
async def show(page: PageAskedByAdmin, saved: str = "") -> Response:
    """All settings; `saved` are the keys that were just saved, to say so."""
    return await _page(page, saved=frozenset(saved.split(",")))


@router.post("/settings")
async def save(page: PageAskedByAdmin) -> Response:
    """Save what differs from what was shown, all or nothing; a lower retention is asked about first."""
    form = await page.form()
    port = page.web.settings
    texts = _changed(form, port.fields())
    changes, problems = _read(page, texts)
    if not problems and RETENTION in changes and form.get(CONFIRM) != str(changes[RETENTION]):
        lowered = await _lowered(page, changes[RETENTION])
        if lowered is not None:
            return await _page(page, draft=Draft(texts=texts, problems={}), lowered=lowered)
    if changes:
        try:
            await port.change(page.actor, changes)  # also what is known to be wrong: the refusal is audited there
        except InvalidRequest as refusal:
            problems = problems or {next(iter(changes)): refusal.detail}
    if problems:
        return await _page(page, 422, draft=Draft(texts=texts, problems=problems))
    return page.redirect("/settings?saved=" + ",".join(changes) if changes else "/settings")


@router.post("/settings/reset")
async def reset(page: PageAskedByAdmin) -> Response:
    """Take back what was set here; the settings file or the default counts again."""
    key = (await page.form()).get("key", "")
    await page.web.settings.change(page.actor, {key: None})
    return page.redirect(f"/settings?saved={key}")


@router.get("/settings/retention")
async def preview(page: PageAskedByAdmin) -> Response:
    """What another retention would delete, while it is being typed."""
    text = page.request.query_params.get(RETENTION, "")
    days = page.web.settings.read(RETENTION, text[:20])
    invalid = page.web.settings.problems(page.actor, {RETENTION: days})
    return page.page("settings_retention.html", lowered=None if invalid else await _lowered(page, days))


async def _page(
    page: Page,
    status: int = 200,
    *,
    draft: Draft = NOTHING,
    lowered: Lowered | None = None,
    saved: frozenset[str] = frozenset(),
) -> Response:
    shown = [_shown(field, draft) for field in page.web.settings.fields()]
    was = {one.field.key: catalogue.written(one.field, one.field.value) for one in shown if _is_editable(one.field)}
    return page.page(
        "settings.html",
        status,
        here="settings",
        at="settings",
        groups=[_group(page, group, shown) for group in GROUPS],
        was=json.dumps(was, ensure_ascii=False),
        waiting=[one for one in shown if one.field.restart_needed],
        wrong=[one for one in shown if one.problem],
        unsaved=[one for one in shown if one.dirty],
        saved=[one for one in shown if one.field.key in saved],
        storage=await look_at_storage(page),
        lowered=lowered,
        confirm=CONFIRM,
        retention=RETENTION,
    )


def _group(page: Page, group: Group, shown: list[Shown]) -> ShownGroup:
    surfaces = [PLATFORM_SECTIONS[section] for section in group.sections if section in PLATFORM_SECTIONS]
    return ShownGroup(
        group=group,
        settings=tuple(one for one in shown if one.field.key.partition(".")[0] in group.sections),
        platforms=tuple(status for status in page.web.platforms() if status.surface in surfaces),
    )


def _shown(field: SettingField, draft: Draft) -> Shown:
    return Shown(
        field=field,
        label=catalogue.label_of(field.key),
        hint=catalogue.hint_of(field),
        unit=catalogue.unit_of(field.key),
        text=draft.texts.get(field.key, catalogue.written(field, field.value)),
        running=catalogue.spoken(field, field.running),
        value=catalogue.spoken(field, field.value),
        problem=draft.problems.get(field.key),
        dirty=field.key in draft.texts,
    )


def _is_editable(field: SettingField) -> bool:
    return field.locked is None and field.kind != "secret"


def _changed(form: Mapping[str, str], fields: Any) -> dict[str, str]:
    """The texts that differ from what the form showed when it was made, so that two admins do not undo each other."""
    try:
        was = json.loads(form.get("was", "{}"))
    except ValueError:
        was = None
    if not isinstance(was, dict):
        raise InvalidRequest("That form is not whole. Open the settings again.")
    changed = {}
    for field in fields:
        text = form.get(field.key, "").replace("\r\n", "\n").strip()
        if field.key not in form or (field.kind == "secret" and not text):
            continue
        if field.kind == "secret" or text != str(was.get(field.key, "")).strip():
            changed[field.key] = text
    return changed


def _read(page: Page, texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What was meant, and what is wrong with it; both by key."""
    port = page.web.settings
    fields = {field.key: field for field in port.fields()}
    changes = {key: _meant(fields[key], catalogue.read(fields[key], text, port.read)) for key, text in texts.items()}
    problems = {
        key: catalogue.must_be(fields[key], words) if key in fields else words
        for key, words in port.problems(page.actor, changes).items()
    }
    return changes, problems


def _meant(field: SettingField, value: Any) -> Any:
    """An empty field takes back what was set here. Where that would not leave it empty, it is no value."""
    return "" if value is None and (field.source == "file" or field.default is not None) else value


async def _lowered(page: Page, days: Any) -> Lowered | None:
    """What a retention deletes that the present one does not; None if that is nothing."""
    now = {field.key: field.running for field in page.web.settings.fields()}
    if not isinstance(days, int) or days >= int(now[RETENTION]):
        return None
    try:
        would = await page.web.service.maintenance.count(days)
    except StoreUnavailable:
        would = None
    if would is not None and not would.steps:
        return None
    return Lowered(days=days, would=would, daily=bool(now["time_travel.auto_maintain"]))
