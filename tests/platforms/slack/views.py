"""Methods that open and change modals."""

from __future__ import annotations

from platforms.core import Json
from platforms.slack import blocks as kit
from platforms.slack.api import Handler, Request
from platforms.slack.modals import kept
from platforms.slack.people import User
from platforms.slack.refusals import missing, wrong
from platforms.slack.scene import TRIGGER_SECONDS

VIEWS_LIMIT = 3


def open_view(request: Request) -> Json:
    view, person = _view(request), _opener(request)
    person.views[:] = [_new(request, view)]
    request.world.scene.signal.touch()
    return {"view": person.views[-1]}


def push_view(request: Request) -> Json:
    view, person = _view(request), _opener(request)
    if len(person.views) >= VIEWS_LIMIT:
        raise wrong("push_limit_reached")
    person.views.append(_new(request, view))
    request.world.scene.signal.touch()
    return {"view": person.views[-1]}


def update_view(request: Request) -> Json:
    view = _view(request)
    found = request.world.view(request.params.needed("view_id"))
    if found is None:
        raise missing("not_found")
    person, depth = found
    old = person.views[depth]
    if request.params.text("hash") not in ("", old["hash"]):
        raise missing("hash_conflict")
    person.views[depth] = kept(old, view) | {"hash": request.world.scene.new_id("hash.")}
    request.world.scene.signal.touch()
    return {"view": person.views[depth]}


def check_view(view: object) -> list[str]:
    """What is wrong with a modal."""
    problems = kit.Problems()
    if not isinstance(view, dict):
        return ["[ERROR] missing required field: view"]
    kit.check_view(view, problems)
    return problems.sentences


def _view(request: Request) -> Json:
    view = request.params.json("view")
    if isinstance(view, dict) and kit.view_is_too_large(view):
        raise wrong("view_too_large")
    if sentences := check_view(view):
        raise wrong("invalid_arguments", *sentences)
    return dict(view)


def _opener(request: Request) -> User:
    """Whoever did what the trigger_id came with."""
    scene = request.world.scene
    trigger = scene.triggers.get(request.params.text("trigger_id"))
    if trigger is None:
        raise wrong("invalid_trigger_id")
    if trigger.used:
        raise wrong("exchanged_trigger_id")
    if scene.clock.now() - trigger.at > TRIGGER_SECONDS:
        raise wrong("expired_trigger_id")
    trigger.used = True
    return trigger.user


def _new(request: Request, view: Json) -> Json:
    scene = request.world.scene
    app, view_id = scene.app, scene.new_id("V")
    identity = {"id": view_id, "team_id": app.team, "app_id": app.id, "bot_id": app.bot_id}
    more = {"callback_id": "", "root_view_id": view_id, "hash": scene.new_id("hash."), "state": {"values": {}}}
    return more | kept(identity, view)


METHODS: dict[str, Handler] = {"views.open": open_view, "views.push": push_view, "views.update": update_view}
