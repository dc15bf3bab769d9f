"""Turns in OpenTelemetry's traces, with the names of its conventions for generative AI.

    import stepwell.tracing

    stepwell.tracing.instrument()

It needs ``opentelemetry-api`` (``pip install stepwell[tracing]``); the app's own tracer provider decides where the
spans go.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._ffi import stepwell_ffi as _ffi
from ._around_tools import set_around
from ._record import Json
from .errors import MisuseError
from .log import logger

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"
"""The schema that the names of spans and attributes follow."""

_MOST_REMEMBERED = 4096
"""The number of finished spans that are remembered: a tool may be stopped just before it begins."""

__all__ = ["SCHEMA_URL", "FinishedSpan", "instrument", "on_span"]


@dataclass(frozen=True)
class FinishedSpan:
    """A finished span: a turn, one request to its model, or one call of a tool."""

    trace_id: str
    """The trace: 32 hexadecimal digits. All spans of a turn belong to one trace."""
    span_id: str
    """The span: 16 hexadecimal digits."""
    parent_span_id: str | None
    """The parent span."""
    name: str
    """The name: ``invoke_agent``, ``chat gpt-4o-mini``, ``execute_tool get_weather``."""
    is_request: bool
    """Whether the span is a request to a server, the model's, and not work of the app."""
    started: int
    """When the span began, in nanoseconds since the Unix epoch."""
    ended: int
    """When the span ended, in nanoseconds since the Unix epoch."""
    attributes: dict[str, Json]
    """The attributes."""
    error: str | None
    """The kind of error that the span ended with, if any."""


def on_span(
    sink: Callable[[FinishedSpan], object],
    *,
    content: bool = False,
    parent: Callable[[], tuple[str, str] | None] = lambda: None,
) -> None:
    """Passes each finished span to ``sink``, the parts of a turn before the turn, on a thread that does nothing else.

    With ``content`` the agents that are created from now on report content too: instructions, messages, arguments and
    results. ``parent`` is called as a turn begins, and returns the app's span that the turn is a part of: the ids of
    its trace and of the span, in hexadecimal digits.

    Raises ``MisuseError`` if spans go somewhere already: call it only once.
    """
    if not _ffi.trace_to(_Sink(sink, parent), content):
        raise MisuseError("spans go somewhere already", "call `instrument` or `on_span` once, as the program begins")


def instrument(*, tracer_provider: TracerProvider | None = None, content: bool = False) -> None:
    """Sends each turn to OpenTelemetry, as a part of the span that is current as the turn begins.

    Spans that a tool creates, of a database or of a turn of its own, are parts of the span ``execute_tool``. Without
    ``tracer_provider`` the app's global one is used. ``content`` is as in ``on_span``.
    """
    try:
        from opentelemetry import context as contexts
        from opentelemetry import trace
        from opentelemetry.context import Context
    except ImportError as error:
        raise ImportError("opentelemetry-api is missing: pip install stepwell[tracing]") from error
    tracer = trace.get_tracer("stepwell", tracer_provider=tracer_provider, schema_url=SCHEMA_URL)

    lock = threading.Lock()
    # The app's spans with unfinished turns in them, and the number of turns; and the parts of such turns.
    around: dict[tuple[int, int], tuple[trace.SpanContext, int]] = {}
    parts: dict[str, list[FinishedSpan]] = {}
    # Spans of running tools and of their turns; and the ids of finished ones, the last ones.
    begun: dict[str, trace.Span] = {}
    over: deque[str] = deque(maxlen=_MOST_REMEMBERED)

    def parent() -> tuple[str, str] | None:
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return None
        key = context.trace_id, context.span_id
        with lock:
            around[key] = context, around.get(key, (context, 0))[1] + 1
        return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)

    def begin(spans: list[dict[str, Json]]) -> trace.Span | None:
        """Starts the span of a tool, and before it that of its turn."""
        within: Any = Context()
        own: trace.Span | None = None
        with lock:
            for span in reversed(spans):
                if span["span_id"] in over:
                    # The tool was stopped before it began here.
                    return None
                if span["span_id"] not in begun:
                    key = int(span["trace_id"], 16), int(span["parent_span_id"] or "0", 16)
                    if own is None and key in around:
                        within = trace.set_span_in_context(trace.NonRecordingSpan(around[key][0]))
                    begun[span["span_id"]] = tracer.start_span(
                        span["name"],
                        context=within,
                        kind=trace.SpanKind.INTERNAL,
                        attributes=span["attributes"],
                        start_time=span["started_unix_nanos"],
                    )
                own = begun[span["span_id"]]
                within = trace.set_span_in_context(own)
        return own

    @contextlib.contextmanager
    def around_tool(spans: list[dict[str, Json]]) -> Iterator[None]:
        own = begin(spans)
        if own is None:
            yield
            return
        token = contexts.attach(trace.set_span_in_context(own))
        try:
            yield
        finally:
            contexts.detach(token)

    def of_the_app(span: FinishedSpan) -> Any:
        """Returns the context in which a turn began."""
        key = int(span.trace_id, 16), int(span.parent_span_id or "0", 16)
        with lock:
            if key not in around:
                return None
            context, turns = around.pop(key)
            if turns > 1:
                around[key] = context, turns - 1
        return trace.set_span_in_context(trace.NonRecordingSpan(context))

    def tell(span: FinishedSpan, context: Any) -> None:
        kind = trace.SpanKind.CLIENT if span.is_request else trace.SpanKind.INTERNAL
        with lock:
            told = begun.pop(span.span_id, None)
            over.append(span.span_id)
        if told is None:
            told = tracer.start_span(
                span.name, context=context, kind=kind, attributes=span.attributes, start_time=span.started
            )
        else:
            told.set_attributes(span.attributes)
        if span.error is not None:
            told.set_status(trace.Status(trace.StatusCode.ERROR, span.error))
        for part in sorted(parts.pop(span.span_id, ()), key=lambda part: part.started):
            tell(part, trace.set_span_in_context(told))
        told.end(end_time=span.ended)

    def sink(span: FinishedSpan) -> None:
        context = of_the_app(span)
        if context is None and span.parent_span_id is not None and span.span_id not in begun:
            # A tracer gives a span its id as it begins: the parts wait for the turn.
            parts.setdefault(span.parent_span_id, []).append(span)
        else:
            tell(span, context or Context())

    on_span(sink, content=content, parent=parent)
    set_around(around_tool)
    # Ends before the provider, which shuts down at the end of the program: the last spans should reach it.
    atexit.unregister(_ffi.shutdown)
    atexit.register(_ffi.shutdown)


class _Sink(_ffi.SpanSink):
    def __init__(self, sink: Callable[[FinishedSpan], object], parent: Callable[[], tuple[str, str] | None]) -> None:
        self._sink = sink
        self._parent = parent

    def span(self, span: _ffi.FinishedSpan) -> None:
        told = FinishedSpan(
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            span.name,
            span.kind is _ffi.SpanKind.CLIENT,
            span.started_unix_nanos,
            span.ended_unix_nanos,
            span.attributes,
            span.error,
        )
        try:
            self._sink(told)
        except Exception:
            logger.exception("the tracer failed")

    def parent(self) -> _ffi.SpanParent | None:
        try:
            around = self._parent()
        except Exception:
            logger.exception("the tracer failed")
            return None
        return None if around is None else _ffi.SpanParent(trace_id=around[0], span_id=around[1])
