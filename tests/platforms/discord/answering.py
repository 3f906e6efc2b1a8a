"""Routes that answer interactions: the first answer, and what follows while the token lives.

https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

from typing import Any

from platforms.core import Json
from platforms.discord import command_rules
from platforms.discord.api import Handler, Request, show
from platforms.discord.components import check_modal
from platforms.discord.interactions import AUTOCOMPLETE, COMMAND, COMPONENT, SUBMIT, Answer, Interaction, Modal
from platforms.discord.messages import CHAT_INPUT, CONTEXT_MENU, DEFAULT, Choice, Message
from platforms.discord.refusals import Problems, Refused, missing, wrong
from platforms.discord.rules import EPHEMERAL, LOADING

FLAGS = EPHEMERAL | 1 << 2 | 1 << 12
"""What an answer may set: ephemeral, no embeds, silent."""

_ALLOWED = {
    COMMAND: (Answer.MESSAGE, Answer.DEFERRED, Answer.MODAL),
    COMPONENT: (Answer.MESSAGE, Answer.DEFERRED, Answer.DEFERRED_UPDATE, Answer.UPDATE, Answer.MODAL),
    AUTOCOMPLETE: (Answer.CHOICES,),
    SUBMIT: (Answer.MESSAGE, Answer.DEFERRED, Answer.DEFERRED_UPDATE, Answer.UPDATE),
}


def answer(request: Request) -> Json | None:
    """The first answer, due within 3 s."""
    asked = _due(request)
    kind, data = int(request.form.get("type") or 0), request.form.get("data") or {}
    problems, allowed = Problems(), _ALLOWED[asked.kind]
    if asked.kind == SUBMIT and asked.message is None:
        allowed = allowed[:2]
    problems.choice(("type",), kind, tuple(int(one) for one in allowed))
    problems.refuse()
    shown = _first(request, asked, Answer(kind), data)
    asked.answer = Answer(kind)
    asked.channel.touch()
    if request.call.params.get("with_response") not in ("1", "true", "True"):
        return None
    about = {"id": asked.id, "type": asked.kind, "response_message_id": asked.original.id if asked.original else None}
    about |= {"response_message_loading": kind == 5, "response_message_ephemeral": bool(shown and shown.ephemeral)}
    body: Json = {"interaction": about}
    return body | ({"resource": {"type": kind, "message": shown.json()}} if shown else {})


def follow_up(request: Request) -> Json:
    """One more message; the first after a deferred answer takes its place."""
    asked = _alive(request)
    if asked.original is not None and asked.original.loading:
        asked.messages.append(asked.original)
        return request.edit(asked.original, request.form)
    return request.sent(_add(request, asked, request.form))


def get_answer(request: Request) -> Json:
    return _message(request, _alive(request)).json()


def edit_answer(request: Request) -> Json:
    asked = _alive(request)
    message = _message(request, asked)
    body = request.edit(message, request.form)
    if message not in asked.messages:
        asked.messages.append(message)
    asked.channel.touch()
    return body


def delete_answer(request: Request) -> None:
    message = _message(request, _alive(request))
    message.deleted = True
    message.channel.scene.change()
    message.channel.tell("MESSAGE_DELETE", message)
    message.channel.touch()


def _first(request: Request, asked: Interaction, kind: Answer, data: Json) -> Message | None:
    """Do what the first answer says; the message that it shows or changes."""
    match kind:
        case Answer.MESSAGE:
            asked.original = _add(request, asked, data)
            request.sent(asked.original)
            return asked.original
        case Answer.DEFERRED:
            asked.original = _add_thinking(request, asked, data)
            return asked.original
        case Answer.DEFERRED_UPDATE:
            asked.original = asked.message
        case Answer.UPDATE:
            assert asked.message is not None
            request.edit(asked.message, data)
            asked.original = asked.message
            asked.messages.append(asked.message)
            return asked.message
        case Answer.CHOICES:
            problems = Problems()
            command_rules.check_choices(data.get("choices") or [], ("data", "choices"), problems)
            problems.refuse()
            asked.choices = [Choice(name=raw["name"], value=raw["value"]) for raw in data.get("choices") or []]
        case Answer.MODAL:
            check_modal(data)
            asked.modal = Modal(data=data["custom_id"], title=data["title"], raw=data)
    return None


def _due(request: Request) -> Interaction:
    """The interaction, if its first answer is still due."""
    asked = request.scene.interactions.get(request.path["token"])
    if asked is None or asked.id != request.path["interaction"]:
        raise wrong(10062, "Unknown interaction", 404)
    limit = request.scene.limits.answer_seconds
    if asked.answer is not None:
        raise wrong(40060, "Interaction has already been acknowledged.")
    if request.scene.clock.now() - asked.at > limit:
        own_fault = request.call.at - asked.at > limit
        raise Refused(404, 10062, "Unknown interaction", violation=own_fault and not asked.late)
    return asked


def _alive(request: Request) -> Interaction:
    """The interaction, if its token still counts."""
    asked = request.scene.interactions.get(request.path["token"])
    if asked is None or request.path["app"] != request.scene.app_id:
        raise wrong(10015, "Unknown Webhook", 404)
    if request.scene.clock.now() - asked.at > request.scene.limits.token_seconds:
        raise Refused(401, 50027, "Invalid Webhook Token")
    if asked.answer is None:
        raise missing(10015, "Webhook")
    return asked


def _message(request: Request, asked: Interaction) -> Message:
    wanted = request.path["message"]
    messages = {message.id: message for message in asked.messages}
    message = asked.original if wanted == "@original" else messages.get(wanted)
    if message is None or message.deleted:
        raise missing(10008, "Message")
    return message


def _add(request: Request, asked: Interaction, form: Json) -> Message:
    fields = request.sendable(form)
    allowed = form.get("allowed_mentions")
    message = _put(asked, fields.pop("text"), files=request.files, allowed_mentions=allowed, **fields)
    asked.messages.append(message)
    show(message)
    return message


def _add_thinking(request: Request, asked: Interaction, form: Json) -> Message:
    return _put(asked, "", flags=(form.get("flags") or 0) & FLAGS | LOADING)


def _put(asked: Interaction, text: str, *, flags: int, **more: Any) -> Message:
    scene = asked.scene
    by = {"id": asked.id, "type": asked.kind, "user": asked.user.json(), "authorizing_integration_owners": {}}
    about = {"application_id": scene.app_id, "webhook_id": scene.app_id, "interaction_metadata": by}
    kind = DEFAULT
    if asked.kind == COMMAND and asked.original is None:
        kind = CHAT_INPUT if asked.data["type"] == command_rules.CHAT_INPUT else CONTEXT_MENU
    seen_by = asked.user if flags & EPHEMERAL else None
    flags &= FLAGS | LOADING
    return asked.channel.add(scene.bot, text, type=kind, flags=flags, about=about, visible_to=seen_by, **more)


ROUTES: dict[str, Handler] = {
    "POST /interactions/{interaction}/{token}/callback": answer,
    "POST /webhooks/{app}/{token}": follow_up,
    "GET /webhooks/{app}/{token}/messages/{message}": get_answer,
    "PATCH /webhooks/{app}/{token}/messages/{message}": edit_answer,
    "DELETE /webhooks/{app}/{token}/messages/{message}": delete_answer,
}
