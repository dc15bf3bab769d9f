"""The model's Markdown: made harmless for a notebook to render, and rendered here."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from .cards import safe, visible

_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")
_MARK = re.compile("`{3}|~{3}")


def harmless(text: str) -> str:
    """Returns Markdown without HTML, images and open ends, for a notebook to render."""
    given = visible(text).split("\n")
    # Whether a fence in a list or a quotation begins code, or ends it, depends on the lines around it: then code, too,
    # is treated as text.
    is_plain = all(_FENCE.fullmatch(line) for line in given if _MARK.search(line))
    lines, fence = [], ""
    for line in given:
        found = _FENCE.fullmatch(line) if is_plain else None
        if not fence and found:
            fence = found["mark"]
        elif not fence:
            line = _without_html(line)
        elif found and found["mark"].startswith(fence) and not found["info"].strip():
            fence = ""
        lines.append(line)
    # An unclosed element must not take in what follows.
    return "\n".join([*lines, fence] if fence else lines)


def _without_html(line: str) -> str:
    """Returns Markdown without HTML, and without images, whose addresses could leak content."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", line).replace("![", "!\\[")


@lru_cache(maxsize=64)
def to_html(text: str) -> str:
    """Converts Markdown to HTML, without HTML and images of its own; to plain text if ``markdown-it-py`` is not
    installed."""
    render = _renderer()
    if render is None:
        return f'<div dir="auto" style="white-space:pre-wrap;margin:.4em 0">{safe(text)}</div>'
    return f'<div dir="auto">{render(visible(text))}</div>'


@cache
def _renderer() -> Callable[[str], str] | None:
    try:
        from markdown_it import MarkdownIt
        from markdown_it.token import Token
    except ImportError:
        return None
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")

    def link_open(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # Opens links in a new page, and does not send the notebook's address.
        address = html.escape(str(tokens[index].attrGet("href") or ""))
        return f'<a href="{address}" target="_blank" rel="noopener noreferrer">'

    parser.add_render_rule("link_open", link_open)
    return parser.render
