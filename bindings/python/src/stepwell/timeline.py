"""When the hops of a turn, its questions to the user and its tools began and ended, and what the hops cost."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Literal

from .events import (
    CallKey,
    Completed,
    Event,
    HopStarted,
    Started,
    ToolCallStatus,
    ToolCallUpdate,
)
from .outcomes import TokenUsage


@dataclasses.dataclass
class Span:
    """A span of a turn. Times are in seconds since the turn's first event, as this program saw its events."""

    kind: Literal["model", "approval", "tool"]
    """Whether the model answered, the user was asked, or a tool ran."""
    name: str
    """The tool's name; ``hop 0`` and so on for the model."""
    hop: int
    """The hop of the span, from 0."""
    start: float
    """When the span began."""
    end: float | None = None
    """When the span ended; ``None`` while it continues."""
    usage: TokenUsage | None = None
    """The hop's cost, for the model. ``None`` while it is not known, or if events were read too late to know."""

    @property
    def seconds(self) -> float | None:
        """The length of the span."""
        return None if self.end is None else self.end - self.start


_STREAMED = (ToolCallStatus.STREAMING, ToolCallStatus.PENDING)
"""The status of a call before the hop's stream is over."""


class Timeline:
    """Builds the spans from a turn's events."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.spans: list[Span] = []
        self._clock = clock
        self._start: float | None = None
        self._calls: dict[CallKey, Span] = {}
        self._counted = TokenUsage()
        self._uncounted: list[Span] = []
        self._is_over = False

    def now(self) -> float:
        """The seconds since the first event."""
        at = self._clock()
        if self._start is None:
            self._start = at
        return at - self._start

    def take(self, events: Sequence[Event]) -> bool:
        """Takes events that came together. Returns whether the cost so far is now that of the finished hops."""
        marks = [event for event in events if type(event) in _MARKS]
        if not marks:
            return False
        at = self.now()
        for event in marks:
            if isinstance(event, ToolCallUpdate):
                self._update(event, at)
                continue
            self._end_stream(at)
            if isinstance(event, Started):
                self._begin_stream(0, at)
            elif isinstance(event, HopStarted):
                self._begin_stream(event.hop, at)
            else:
                self._is_over = True
                for span in self.spans:
                    span.end = at if span.end is None else span.end
        # If more events have come since the hop began, it may be over already, with its cost in the sum.
        return isinstance(marks[-1], HopStarted) and bool(self._uncounted)

    def count(self, usage: TokenUsage) -> None:
        """Adds the cost of the finished hops."""
        if len(self._uncounted) == 1:
            self._uncounted[0].usage = _difference(usage, self._counted)
        self._uncounted.clear()
        self._counted = usage

    def count_all(self, usage: TokenUsage) -> None:
        """Adds the turn's cost, if all its events were seen."""
        if self._is_over:
            self.count(usage)

    def _stream(self) -> Span | None:
        return next((span for span in reversed(self.spans) if span.kind == "model" and span.end is None), None)

    def _begin_stream(self, hop: int, at: float) -> None:
        self.spans.append(Span("model", f"hop {hop}", hop, at))

    def _end_stream(self, at: float) -> None:
        if span := self._stream():
            span.end = at
            self._uncounted.append(span)

    def _update(self, event: ToolCallUpdate, at: float) -> None:
        if event.status in _STREAMED:
            return
        self._end_stream(at)
        if running := self._calls.pop(event.call, None):
            running.end = at
        if event.status is ToolCallStatus.AWAITING_APPROVAL:
            kind: Literal["approval", "tool"] = "approval"
        elif event.result is None:
            kind = "tool"
        else:
            return
        span = self._calls[event.call] = Span(kind, event.name, event.call.hop, at)
        self.spans.append(span)


_MARKS = {Started, HopStarted, Completed, ToolCallUpdate}


def _difference(now: TokenUsage, before: TokenUsage) -> TokenUsage:
    counts = {}
    for field in dataclasses.fields(TokenUsage):
        count, earlier = getattr(now, field.name), getattr(before, field.name)
        counts[field.name] = None if count is None else count - (earlier or 0)
    return TokenUsage(**counts)
