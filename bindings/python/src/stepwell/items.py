"""The items of a turn's view, as HTML, Markdown and plain text."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

from . import events as ev
from . import markdown
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
    text: str = ""
    """The text."""

    def say(self, delta: str) -> None:
        """Appends a delta."""
        # Skips the break before the first text after tool calls: here that text begins its own block.
        self.text += delta if self.text else delta.lstrip("\n")

    def to_html(self, now: float) -> str:
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
    """An item that is no text: a message's pictures, a timeline."""

    html: str
    """The content."""

    def to_html(self, now: float) -> str:
        """Returns HTML."""
        return self.html


@dataclass
class Notice:
    """A line from Stepwell itself."""

    text: str
    """The text."""
    is_trouble: bool = False
    """Whether something went wrong."""

    def to_html(self, now: float) -> str:
        """Returns HTML."""
        colour = "#dd333f" if self.is_trouble else "#6e7782"
        return f'<div style="color:{colour};margin:.4em 0">{safe(self.text)}</div>'

    def to_text(self) -> str:
        """Returns plain text."""
        return f"[{visible(self.text)}]"


@dataclass
class Card:
    """A tool call."""

    id: str
    """The provider's id for it."""
    name: str
    """The tool."""
    arguments: str = ""
    """The arguments received so far."""
    status: str = "streaming"
    """The status: a ``ToolCallStatus``."""
    result: str | None = None
    """The result."""
    call: ev.CallKey | None = None
    """The call's place in the turn, once that is known."""
    pictures: Sequence[str] = ()
    """The pictures of the result, as HTML."""
    since: float | None = None
    """When the call began to run, or to wait, by the view's clock; ``None`` while it does neither."""
    took: float | None = None
    """How long the call ran, in seconds."""

    def is_under_way(self) -> bool:
        """Whether the call has no result yet."""
        return self.status not in _SIGNS

    def move_on(self, status: ev.ToolCallStatus, now: float) -> None:
        """Sets the status."""
        if self.status == status.value:
            return
        if self.status == "executing" and self.since is not None:
            self.took = now - self.since
        self.since = now if status.value in ("awaiting_approval", "executing", "deferred") else None
        self.status = status.value

    def to_html(self, now: float) -> str:
        """Returns HTML. Arguments that the user is asked about are shown completely."""
        is_asked = self.status == "awaiting_approval"
        pretty = _pretty(self.arguments)
        arguments = "" if pretty in ("", "{}") else preformatted(pretty if is_asked else _short(pretty))
        result = "" if self.result is None else preformatted(_short(self.result))
        colour = _COLOURS.get(self.status, "#6e7782")
        return (
            f'<details{" open" if is_asked else ""} style="border:1px solid #8886;border-left:3px solid {colour};'
            f'border-radius:6px;padding:.3em .7em;margin:.4em 0"><summary><code>{html.escape(exact(self.name))}</code> '
            f'<span style="color:{colour}">{safe(self._said(now))}</span></summary>{arguments}{result}</details>'
            + "".join(self.pictures)
        )

    def _said(self, now: float) -> str:
        seconds = self.took if self.since is None else now - self.since
        status = self.status.replace("_", " ")
        return status if seconds is None or seconds < 1 else f"{status}, {duration(seconds)}"

    def to_text(self) -> str:
        """Returns plain text."""
        sign = _SIGNS.get(self.status, "…")
        result = f" → {_short(self.result)}" if self.result is not None else ""
        return visible(f"{sign} {self.name} {_short(self.arguments)}{result}".replace("\n", " "))


Item = Said | Drawn | Notice | Card
"""The items of a view."""


def to_markdown(item: Item, now: float) -> str:
    """Returns Markdown, with HTML for all but what the model says."""
    if isinstance(item, Said) and item.kind == "text":
        return markdown.harmless(item.text)
    # A blank line would end the block of HTML.
    return item.to_html(now).replace("\n", "&#10;")


def duration(seconds: float) -> str:
    """Formats a time: ``7 s``, ``2 min 5 s``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _short(text: str) -> str:
    over = len(text) - _LONGEST
    return text if over <= 0 else f"{text[:_LONGEST]}… and {over:,} characters more"


def _pretty(arguments: str) -> str:
    try:
        return arguments_text(json.loads(arguments))
    except ValueError:
        return exact(arguments)


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
