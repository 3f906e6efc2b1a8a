"""The longer answers: lists, trees, one step, what differs. Pure functions from values to replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnback.bots.commands import asked_for
from turnback.bots.replies import Button, Option, Reply, Select
from turnback.bots.telling import did, moment, short, size, step_line, value_text, where, where_and_id
from turnback.bots.words import printable, printable_lines
from turnback.core.answers import Listing, StepDetail
from turnback.core.models import StepView, TurnView
from turnback.core.policy import Budgets
from turnback.core.text import counted

PAGE = 20
"""Steps on a page of a list."""

TREE_PAGE = 100
"""Steps on a page of a tree."""

_TITLE, _CONTINUED = 90, 16
"""Characters kept free on a page for its title, and at each turn for what says that it goes on."""

NONE_HERE = "No steps are saved on this path."

_CALLS_SHOWN, _MESSAGES_SHOWN, _CHANGES_SHOWN = 6, 10, 12


def overview(listing: Listing, url: str | None) -> Reply:
    """How much is saved, and where the chat stands."""
    buttons = (Button(label="Open", url=url),) if url else ()
    total = listing.usage.steps
    if not total:
        none = "No steps are saved here yet. Each answer of the agent saves some."
        return Reply(text=_if_none(listing, none), buttons=buttons)
    turns = len({view.step.turn_no for view in listing.steps})
    saved = f"{counted(len(listing.steps), 'step')} saved here in {counted(turns, 'turn')}."
    lines = [saved if turns else _if_none(listing, NONE_HERE)]
    head = next((view for view in listing.steps if view.head), None)
    if head:
        lines.append(f"This chat stands at {where_and_id(head.step)}.")
    if listing.aside:
        lines.append(_aside(listing))
    lines.append("/replay list shows the steps, /replay restore STEP goes back to one, /help shows the rest.")
    return Reply(text="\n".join(lines), buttons=(Button(label="List", command="/replay list"), *buttons))


def steps_list(listing: Listing, page: int | None, now: datetime, budgets: Budgets, room: int | None = None) -> Reply:
    """A page of the path. Page 1 is the oldest; without a page, the one with the head.

    `room`: characters (UTF-16 units) that a page may have at most.
    """
    footer = _footer(listing, budgets)
    if not listing.steps:
        return Reply(text="\n".join([_if_none(listing, NONE_HERE), *footer]))
    cut = _cut_into_pages(listing, PAGE, now, room and room - _width("\n".join(footer)))
    pages = len(cut)
    turned, page = page is not None, min(page or pages, pages)
    shown = cut[page - 1]
    title = "Steps of this chat" + (f", page {page} of {pages}" if pages > 1 else "") + ", oldest first:"
    text = "\n".join([title, *_turn_lines(listing.turns, shown, now), "", *footer])
    select = Select(placeholder="Open a step", options=tuple(_option(view) for view in shown))
    return Reply(text=text, buttons=_page_buttons(page, pages, "/replay list"), select=select, replaces=turned)


def tree(listing: Listing, page: int, now: datetime, budgets: Budgets, room: int | None = None) -> Reply:
    """All steps, with those that are set aside."""
    if not listing.steps:
        return Reply(text=_if_none(listing, "No steps are saved here."))
    footer = _footer(listing, budgets, whole=True)
    cut = _cut_into_pages(listing, TREE_PAGE, now, room and room - _width("\n".join(footer)))
    pages = len(cut)
    page = min(page, pages)
    shown = cut[page - 1]
    title = "All steps of this chat" + (f", page {page} of {pages}" if pages > 1 else "") + " (↯ set aside, → here):"
    lines = [title, *_turn_lines(listing.turns, shown, now, aside=True)]
    return Reply(
        text="\n".join([*lines, "", *footer]),
        buttons=_page_buttons(page, pages, "/replay tree"),
        replaces=True,
    )


def step(detail: StepDetail, summary: str, now: datetime) -> Reply:
    """One step, opened: what was asked, done and answered."""
    view, saved = detail.view, detail.view.step
    lines = [step_line(view, now, aside=True)]
    if summary:
        lines.append(f"Asked: {printable(summary, 200)}")
    lines.append(f"{counted(saved.message_count, 'message')}, {size(saved.bytes)}, saved {moment(saved.created_at)}")
    if saved.truncated:
        lines.append(
            "✂ It was too big and was saved with parts cut: it can be read and compared, not restored or forked."
        )
    lines += ["", *_messages(detail.messages)]
    return Reply(text="\n".join(lines).rstrip(), buttons=_step_buttons(view))


def comparison(result: Mapping[str, Any], a: StepView, b: StepView | None) -> Reply:
    """What differs between two steps, or a step and now."""
    name_a, name_b = where_and_id(a.step), where_and_id(b.step) if b else "now"
    if result["identical"]:
        return Reply(text=f"{_capital(name_a)} and {name_b} are the same.")
    lines = [f"{_capital(name_a)} and {name_b}:", f"{counted(result['common_messages'], 'message')} in common."]
    for name, messages in ((name_a, result["only_a"]), (name_b, result["only_b"])):
        if messages:
            lines += ["Only now:" if name == "now" else f"Only in {name}:", *_messages(messages)]
    lines += _changes(result["changes"])
    model = result["model"]
    if model["a"] != model["b"] and b is not None:
        lines.append(f"Model: {printable(str(model['a']), 40)} → {printable(str(model['b']), 40)}")
    delta = {key: value for key, value in result["cost"]["delta"].items() if value}
    if delta:
        lines.append(
            "Cost: " + ", ".join(f"{printable(str(key), 30)} {_signed(value)}" for key, value in delta.items())
        )
    lines += _files(result.get("files"))
    return Reply(text="\n".join(lines))


def _if_none(listing: Listing, otherwise: str) -> str:
    """Instead of an empty list: the words of an answer may be seen before its step is saved."""
    running = listing.thread.running_turn is not None
    return "A turn is running. Its steps appear here as they are saved: ask again." if running else otherwise


def _cut_into_pages(listing: Listing, most: int, now: datetime, room: int | None) -> list[list[StepView]]:
    """The steps in pages of at most `most`, each within `room`; a step that alone takes more has its own."""
    headings = {turn.turn.turn_no: _width(_heading(turn, aside=True)) + _CONTINUED for turn in listing.turns}
    pages: list[list[StepView]] = []
    left, turn_no = 0, None
    for view in listing.steps:
        line = _width(step_line(view, now, aside=True)) + 1
        heading = headings.get(view.step.turn_no, 0)
        needed = line if view.step.turn_no == turn_no else line + heading
        if not pages or len(pages[-1]) == most or (room is not None and needed > left):
            pages.append([])
            left = (room or 0) - _TITLE - line - heading
        else:
            left -= needed
        pages[-1].append(view)
        turn_no = view.step.turn_no
    return pages


def _turn_lines(
    turns: Sequence[TurnView], shown: Sequence[StepView], now: datetime, *, aside: bool = False
) -> list[str]:
    wanted = {view.step.id for view in shown}
    lines: list[str] = []
    for turn in turns:
        steps = [view for view in turn.steps if view.step.id in wanted]
        if not steps:
            continue
        continued = " (continued)" if steps[0].step.id != turn.steps[0].step.id else ""
        lines += ["", _heading(turn, continued, aside=aside)]
        lines += [step_line(view, now, aside=aside) for view in steps]
    return lines


def _heading(turn: TurnView, continued: str = "", *, aside: bool = False) -> str:
    mark = "↯ " if aside and not turn.on_path else ""
    summary = printable(turn.turn.summary, 80)
    return f"{mark}Turn {turn.turn.turn_index}{continued}" + (f": {summary}" if summary else "")


def _footer(listing: Listing, budgets: Budgets, *, whole: bool = False) -> list[str]:
    lines = [_aside(listing, where="." if whole else ": /replay tree")] if listing.aside else []
    if listing.since:
        lines.append(f"Steps exist since {moment(listing.since)}.")
    used, most = listing.usage, budgets
    lines.append(
        f"Budget of this chat: {used.steps} of {counted(most.max_snapshots, 'step')}, "
        f"{size(used.stored_bytes)} of {size(most.max_thread_bytes)}."
    )
    return lines


def _aside(listing: Listing, *, where: str = ": /replay tree") -> str:
    return f"{counted(listing.aside, 'step')} set aside{where}"


def _page_buttons(page: int, pages: int, command: str) -> tuple[Button, ...]:
    older = (Button(label=f"‹ Page {page - 1}", command=f"{command} {page - 1}"),) if page > 1 else ()
    newer = (Button(label=f"Page {page + 1} ›", command=f"{command} {page + 1}"),) if page < pages else ()
    return older + newer


def _option(view: StepView) -> Option:
    saved = view.step
    return Option(
        label=f"{_capital(where(saved))} · {short(saved.id)}",
        detail=printable(saved.summary, 60) or did(saved),
        command=f"/replay show {saved.id}",
    )


def _step_buttons(view: StepView) -> tuple[Button, ...]:
    name = view.step.id
    going = (
        ()
        if view.step.truncated
        else (
            Button(label="Restore", command=f"/replay restore {name}"),
            Button(label="Fork", command=f"/fork {name}"),
        )
    )
    return (
        *going,
        Button(label="Compare with now", command=f"/replay compare {name}"),
        Button(label="Label", command=f"/replay name {name}", asks=asked_for("/replay name")),
    )


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    left_out = len(messages) - _MESSAGES_SHOWN
    lines = [f"… {counted(left_out, 'earlier message')}"] if left_out > 0 else []
    for message in messages[-_MESSAGES_SHOWN:]:
        lines += _message(message)
    return lines


def _message(message: Mapping[str, Any]) -> list[str]:
    role = printable(str(message.get("role", "")), 20)
    lines = []
    if message.get("text"):
        lines.append(f"{role}: {printable_lines(str(message['text']), 600)}")
    calls = message.get("tool_calls") or ()
    lines += [f"{role} called {_call(call)}" for call in calls[:_CALLS_SHOWN]]
    if len(calls) > _CALLS_SHOWN:
        lines.append(f"{role} called {len(calls) - _CALLS_SHOWN} more")
    result = message.get("tool_result")
    if result not in (None, ""):
        lines.append(f"result: {printable(value_text(result), 200)}")
    return lines


def _call(call: Mapping[str, Any]) -> str:
    args = value_text(call.get("args"))
    return printable(f"{call.get('name')} {args if args not in ('null', '{}') else ''}", 120)


def _changes(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not changes:
        return []
    lines = ["Changed in the state:"]
    for change in changes[:_CHANGES_SHOWN]:
        value = f" = {value_text(change['value'])}" if "value" in change else ""
        lines.append(printable(f"- {change.get('op')} {change.get('path')}{value}", 160))
    if len(changes) > _CHANGES_SHOWN:
        lines.append(f"- and {len(changes) - _CHANGES_SHOWN} more")
    return lines


def _files(files: Mapping[str, Sequence[str]] | None) -> list[str]:
    if not files:
        return []
    marks = (("added", "+"), ("removed", "-"), ("changed", "~"))
    lines = [f"{mark} {printable(path, 120)}" for kind, mark in marks for path in files.get(kind, ())]
    return ["Files:", *lines[:30], *([f"and {len(lines) - 30} more"] if len(lines) > 30 else [])] if lines else []


def _signed(value: float) -> str:
    return f"{value:+g}" if isinstance(value, float) else f"{value:+d}"


def _width(text: str) -> int:
    """How long a text is where that is counted in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
