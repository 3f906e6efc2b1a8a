"""What people and models wrote, as HTML: answers are Markdown, and nothing that they hold gets out of it.

HTML in a text is shown as text, addresses lead only to http, https and mail, and pictures become links: a
page never asks another host for anything by itself.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from turnback.core.text import well_formed

LONG = 12_000
"""Characters of one message that a page shows unasked."""

_NEST = 40
"""How deep lists and quotes may nest; deeper is shown as text."""


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _env: MutableMapping[str, Any]
) -> str:
    token = tokens[index]
    if str(token.attrGet("href") or "").startswith(("http:", "https:")):
        token.attrSet("target", "_blank")
        token.attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, _env)


def _image(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: MutableMapping[str, Any]
) -> str:
    token = tokens[index]
    where, text = str(token.attrGet("src") or ""), token.content or "picture"
    if not where.startswith(("http:", "https:")):
        return str(escape(text))
    return f'<a href="{escape(where)}" target="_blank" rel="noopener noreferrer nofollow">{escape(text)}</a>'


def _cell_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _env: MutableMapping[str, Any]
) -> str:
    style = str(tokens[index].attrs.pop("style", ""))  # the policy allows no inline style
    if style:
        tokens[index].attrSet("class", style.replace("text-align:", "align-"))
    return renderer.renderToken(tokens, index, options, _env)


def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _NEST}).enable(
        ["table", "strikethrough"]
    )
    markdown.add_render_rule("link_open", _link_open)
    markdown.add_render_rule("image", _image)
    for cell in ("th_open", "td_open"):
        markdown.add_render_rule(cell, _cell_open)
    valid = markdown.validateLink
    markdown.validateLink = lambda url: valid(url) and not url.strip().lower().startswith("data:")  # type: ignore[method-assign]
    return markdown


_markdown = _renderer()


def answer_html(text: str) -> Markup:
    """An answer of the agent's."""
    return Markup(_markdown.render(well_formed(text)))  # noqa: S704 - markdown-it escapes all HTML in it


def cut_long(text: str, limit: int = LONG) -> str | None:
    """The beginning of a long text, cut at a line or a word; None if it is not long."""
    if len(text) <= limit:
        return None
    head = text[:limit]
    end = max(head.rfind("\n", limit // 2), head.rfind(" ", limit - 200))
    return head[:end] if end > 0 else head
