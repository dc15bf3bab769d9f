"""The items of a turn's view, as HTML, Markdown and plain text."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import events as ev
from . import markdown
from ._record import Json
from .cards import arguments_text, exact, preformatted, safe, visible
from .timeline import Span

_LONGEST = 4000
"""The most characters of arguments or a result that a card shows."""

# Each has a contrast of 4.5 on a white page, and of 4.1 on a dark one.
_COLOURS = {
    "streaming": "#6e7782",
    "pending": "#6e7782",
    "awaiting_approval": "#9c6e00",
    "executing": "#0a72ed",
    "deferred": "#9c6e00",
    "completed": "#1c883b",
    "failed": "#dd333f",
    "denied": "#dd333f",
    "cancelled": "#6e7782",
}
_SIGNS = {"completed": "✓", "failed": "✗", "denied": "✗", "cancelled": "✗"}


@dataclass
class Said:
    """Text of the model or the user."""

    kind: str
    """``text``, ``reasoning`` or ``user``."""
    text: str
    """The text."""

    def to_html(self) -> str:
        """Returns HTML."""
        if self.kind == "text":
            return markdown.to_html(self.text)
        body = f'<div dir="auto" style="white-space:pre-wrap;margin:.4em 0">{safe(self.text)}</div>'
        if self.kind == "reasoning":
            return f'<details style="opacity:.7"><summary>Thinking</summary>{body}</details>'
        return f'<div style="border-left:3px solid #8886;padding-left:.7em">{body}</div>'

    def to_text(self) -> str:
        """Returns plain text."""
        lines = visible(self.text)
        return {"user": f"> {lines}", "reasoning": f"({lines})"}.get(self.kind, lines)


@dataclass
class Drawn:
    """An item that is no text: media of a message, a timeline."""

    html: str
    """The content."""
    text: str = ""
    """The content as plain text; empty if there is none."""

    def to_html(self) -> str:
        """Returns HTML."""
        return self.html

    def to_text(self) -> str:
        """Returns plain text."""
        return visible(self.text)


@dataclass
class Notice:
    """A line from Stepwell itself."""

    text: str
    """The text."""
    is_trouble: bool = False
    """Whether something went wrong."""

    def to_html(self) -> str:
        """Returns HTML."""
        colour = "#dd333f" if self.is_trouble else "#6e7782"
        return f'<div style="color:{colour};margin:.4em 0">{safe(self.text)}</div>'

    def to_text(self) -> str:
        """Returns plain text."""
        return f"[{visible(self.text)}]"


@dataclass
class Card:
    """A tool call, as it is drawn."""

    id: str
    """The provider's id for it."""
    name: str
    """The tool."""
    arguments: Json
    """The arguments so far; a text if the model did not write JSON, ``None`` if none have arrived."""
    status: str
    """The status: a ``ToolCallStatus``."""
    result: str | None = None
    """The result, or the reason why there is none."""
    pictures: Sequence[str] = ()
    """The pictures of the result, as HTML."""
    call: ev.CallKey | None = None
    """The call's place in the turn, once that is known."""
    seconds: float | None = None
    """How long the call has run, or waited for an answer."""

    def is_under_way(self) -> bool:
        """Whether the call has no result yet."""
        return self.status not in _SIGNS

    def to_html(self) -> str:
        """Returns HTML. Arguments that the user is asked about are shown completely."""
        is_asked = self.status == "awaiting_approval"
        pretty = self._arguments(arguments_text)
        arguments = "" if pretty in ("", "{}") else preformatted(pretty if is_asked else _short(pretty))
        result = "" if self.result is None else preformatted(_short(self.result))
        colour = _COLOURS.get(self.status, "#6e7782")
        return (
            f'<details{" open" if is_asked else ""} style="border:1px solid #8886;border-left:3px solid {colour};'
            f'border-radius:6px;padding:.3em .7em;margin:.4em 0"><summary><code>{html.escape(exact(self.name))}</code> '
            f'<span style="color:{colour}">{safe(self._said())}</span></summary>{arguments}{result}</details>'
            + "".join(self.pictures)
        )

    def _said(self) -> str:
        status = self.status.replace("_", " ")
        return status if self.seconds is None or self.seconds < 1 else f"{status}, {duration(self.seconds)}"

    def to_text(self) -> str:
        """Returns plain text."""
        sign = _SIGNS.get(self.status, "…")
        result = f" → {_short(self.result)}" if self.result is not None else ""
        return visible(f"{sign} {self.name} {_short(self._arguments(_compact))}{result}".replace("\n", " "))

    def _arguments(self, written: Callable[[Json], str]) -> str:
        if self.arguments is None:
            return ""
        return exact(self.arguments) if isinstance(self.arguments, str) else written(self.arguments)


Item = Said | Drawn | Notice | Card
"""The items of a view."""


def to_markdown(item: Item) -> str:
    """Returns Markdown, with HTML for all but what the model says."""
    if isinstance(item, Said) and item.kind == "text":
        return markdown.harmless(item.text)
    # A blank line would end the block of HTML.
    return item.to_html().replace("\n", "&#10;")


def duration(seconds: float) -> str:
    """Formats a time: ``7 s``, ``2 min 5 s``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _short(text: str) -> str:
    over = len(text) - _LONGEST
    return text if over <= 0 else f"{text[:_LONGEST]}… and {over:,} characters more"


def _compact(arguments: Json) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def timeline_of(spans: Sequence[Span]) -> Drawn:
    """Draws when the hops and the tools of a finished turn took place."""
    ended = [(span, span.end) for span in spans if span.end is not None]
    whole = max((end for _, end in ended), default=0.0) or 1.0
    rows = []
    for span, end in ended:
        left, width = 100 * span.start / whole, max(0.5, 100 * (end - span.start) / whole)
        tokens = "" if span.usage is None or span.usage.total_tokens is None else f", {span.usage.total_tokens:,} tokens"
        rows.append(
            f'<div><code>{html.escape(exact(span.name))}</code> {span.kind}, {end - span.start:.2f} s{tokens}'
            f'<div style="height:.5em;border-radius:2px;margin-left:{min(left, 99.5):.1f}%;'
            f'width:{min(width, 100 - min(left, 99.5)):.1f}%;background:{_SPANS[span.kind]}"></div></div>'
        )
    return Drawn(f'<details style="margin:.4em 0"><summary>Timeline, {whole:.2f} s</summary>{"".join(rows)}</details>')


_SPANS = {"model": "#0a72ed", "approval": "#9c6e00", "tool": "#1c883b"}
