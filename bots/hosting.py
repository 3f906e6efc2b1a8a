"""What somebody else's bot needs of us beside the commands: its agent's states are saved and given back.

Platform-free; each platform's `host` makes place and person of what its library has.
"""

from __future__ import annotations

from turnback.bots.addressing import ANSWER
from turnback.bots.people import PlatformPeople
from turnback.bots.places import Place, Places
from turnback.bots.platform import Person
from turnback.core.answers import Recorded
from turnback.core.errors import Forbidden
from turnback.core.models import Post, State, ThreadId
from turnback.core.recording import Report
from turnback.core.service import Turnback
from turnback.core.text import one_line
from turnback.core.views import turn_index_on

_TITLE = 60


async def record_at(
    service: Turnback,
    place: Place,
    person: Person,
    said: str,
    state: State,
    *,
    step: int = 0,
    model: str | None = None,
    answer: str | None = None,
) -> Recorded:
    """Save a state as a step of the conversation at a place. `answer` is the message that shows it; for the rest
    see each platform's `record`.
    """
    people = PlatformPeople(service, admins=None, allow=lambda: (f"{person.surface.value}:*",))
    actor = await people.actor(person, place=place.key)
    if actor is None:
        raise Forbidden("This user may not use the bot.")
    places = Places(service.threads, service.rewind)
    await places.enter(actor, place)
    thread_id = await places.open(actor, place, one_line(said, _TITLE) or None)
    view = await service.threads.view(thread_id)
    stands_at = turn_index_on(view, view.lineage.path(view.thread.head)) if view is not None else 0
    report = Report(turn_index=stands_at + (step == 0), iteration=step, state=state, model=model)
    done = await service.rewind.record(actor, thread_id, report)
    if answer is not None:
        await _point_at(service, thread_id, place, answer)
    return done


async def recorded_at(service: Turnback, place: Place) -> State | None:
    """The state that the conversation at a place stands at; None before its first one."""
    found = await Places(service.threads, service.rewind).find(place)
    thread = await service.threads.find_thread(found) if found is not None else None
    return await service.threads.checkpoint(thread.id, thread.head) if thread is not None else None


async def _point_at(service: Turnback, thread_id: ThreadId, place: Place, message: str) -> None:
    thread = await service.threads.find_thread(thread_id)
    if thread is None or place.key is None:
        return
    await service.threads.add_post(
        Post(
            surface=place.surface,
            place=place.key,
            message=message,
            thread_id=thread_id,
            at=thread.head,
            kind=ANSWER,
        )
    )
