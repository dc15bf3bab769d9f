"""The traces, in OpenTelemetry's own SDK."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes, server_attributes

import stepwell.tracing
from stepwell import Agent, Conversation, MisuseError, Model, tool
from stepwell.machine import RetryPolicy

Start = Callable[..., MockLlm]


class Kept(SpanExporter):
    """Keeps what is exported, and waits for a turn's span, which comes last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._changed:
            self._spans += spans
            self._changed.notify_all()
        return SpanExportResult.SUCCESS

    def trace(self, thread_id: str) -> list[ReadableSpan]:
        """The spans of the thread's only turn, by their beginnings."""

        def turn() -> ReadableSpan | None:
            of_thread = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": thread_id}
            return next((span for span in self._spans if of_thread.items() <= dict(span.attributes or {}).items()), None)

        with self._changed:
            self._changed.wait_for(turn)
            whole = turn()
            assert whole is not None and whole.context is not None
            of_trace = [span for span in self._spans if span.context and span.context.trace_id == whole.context.trace_id]
            return sorted(of_trace, key=lambda span: (span.start_time or 0, -(span.end_time or 0)))


PROVIDER = TracerProvider()
KEPT = Kept()
PROVIDER.add_span_processor(SimpleSpanProcessor(KEPT))


@pytest.fixture(scope="module", autouse=True)
def _instrumented() -> None:
    stepwell.tracing.instrument(tracer_provider=PROVIDER, content=True)


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42}[name]


def agent(mock: MockLlm, thread_id: str, **settings: Any) -> Conversation[Any, Any]:
    model = Model.openai("gpt-4o-mini", base_url=mock.base_url, api_key="sk-secret")
    made = Agent(model, instructions="Be brief.", tools=[get_secret_number], **settings)
    return made.conversation(thread_id)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_turn_is_a_trace_within_the_apps_own_span(mock_llm: Start) -> None:
    hops = [calls(("get_secret_number", {"name": "alice"})), text("It is 42.")]
    mock = mock_llm(*[hop | {"usage": {"input": 100, "output": 10}} for hop in hops])
    with PROVIDER.get_tracer("app").start_as_current_span("request") as request:
        finished = await agent(mock, "traced-1").stream("What is Alice's number?")._finish()
    assert finished.text == "It is 42."
    turn, first, work, second = [span for span in KEPT.trace("traced-1") if span.name != "request"]
    assert [span.name for span in (turn, first, work, second)] == [
        "invoke_agent",
        "chat gpt-4o-mini",
        "execute_tool get_secret_number",
        "chat gpt-4o-mini",
    ]
    assert turn.parent == request.get_span_context()
    assert {span.parent and span.parent.span_id for span in (first, work, second)} == {turn.context and turn.context.span_id}
    assert [span.kind for span in (turn, first, work)] == [
        trace.SpanKind.INTERNAL,
        trace.SpanKind.CLIENT,
        trace.SpanKind.INTERNAL,
    ]
    assert turn.instrumentation_scope and turn.instrumentation_scope.schema_url == stepwell.tracing.SCHEMA_URL
    assert all(span.status.is_ok or span.status.status_code is trace.StatusCode.UNSET for span in (turn, first, work))
    for span in (turn, first, work, second):
        assert (turn.start_time or 0) <= (span.start_time or 0) <= (span.end_time or 0) <= (turn.end_time or 0)

    whole, chat, call, last = (attributes(span) for span in (turn, first, work, second))
    assert whole["gen_ai.usage.input_tokens"] == 200
    assert whole["stepwell.usage.cost"] == finished.usage.cost == pytest.approx(0.000042)
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (100, 10)
    assert chat["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert last["gen_ai.response.finish_reasons"] == ("stop",)
    assert chat["gen_ai.response.time_to_first_chunk"] > 0
    assert chat["server.address"] == "127.0.0.1"
    assert chat["gen_ai.response.id"] and chat["gen_ai.response.model"]
    assert call["gen_ai.tool.name"] == "get_secret_number"

    # Asked for, what was said is there too.
    assert json.loads(chat["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    said = [{"type": "text", "content": "What is Alice's number?"}]
    assert json.loads(chat["gen_ai.input.messages"]) == [{"role": "user", "parts": said}]
    (answer,) = json.loads(chat["gen_ai.output.messages"])
    assert answer["finish_reason"] == "tool_calls"
    assert answer["parts"][0]["arguments"] == {"name": "alice"}
    assert json.loads(last["gen_ai.input.messages"])[-1]["parts"][0]["response"] == "42"
    assert (json.loads(call["gen_ai.tool.call.arguments"]), json.loads(call["gen_ai.tool.call.result"])) == (
        {"name": "alice"},
        "42",
    )
    assert "sk-secret" not in str([whole, chat, call, last])


async def test_what_fails_is_an_error(mock_llm: Start) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"})
    await agent(mock, "traced-2", retry=RetryPolicy(attempts=1)).stream("Hi")._finish()
    turn, chat = KEPT.trace("traced-2")
    assert turn.parent is None
    for span in (turn, chat):
        assert (span.status.status_code, attributes(span)["error.type"]) == (trace.StatusCode.ERROR, "api")


async def test_names_are_those_of_the_conventions(mock_llm: Start) -> None:
    """The package has the names as they were when they moved to a repository of their own."""
    mock = mock_llm(calls(("get_secret_number", {"name": "alice"})), text("It is 42."))
    await agent(mock, "traced-4").stream("What is Alice's number?")._finish()
    modules = (error_attributes, gen_ai_attributes, server_attributes)
    known = {value for module in modules for value in vars(module).values() if isinstance(value, str)}
    used = {name for span in KEPT.trace("traced-4") for name in attributes(span)}
    assert {name for name in used if not name.startswith("stepwell.")} <= known
    assert len([name for name in used if name.startswith("gen_ai.")]) >= 18


def test_spans_go_to_one_place() -> None:
    with pytest.raises(MisuseError, match="go somewhere already"):
        stepwell.tracing.on_span(print)


async def test_what_a_tool_does_is_a_part_of_its_call(mock_llm: Start) -> None:
    tracer = PROVIDER.get_tracer("app")
    inner = agent(mock_llm(text("Inside.")), "traced-inner")

    @tool
    async def look() -> str:
        with tracer.start_as_current_span("async work"):
            return (await inner.stream("Hi").result()).text

    @tool
    def query() -> str:
        with tracer.start_as_current_span("plain work"):
            return "a row"

    mock = mock_llm(calls(("look", {}), ("query", {})), text("Done."))
    outer = Agent(mock.model, tools=[look, query]).conversation("traced-outer")
    with tracer.start_as_current_span("request") as request:
        await outer.stream("Go")._finish()
        # What comes after the tools is no part of them.
        assert trace.get_current_span() is request
    spans = KEPT.trace("traced-outer")
    names = {span.context.span_id: span.name for span in spans if span.context}

    def parents(name: str) -> list[str]:
        found = [span for span in spans if span.name == name]
        return [names[span.parent.span_id] if span.parent else "none" for span in found]

    assert parents("execute_tool look") == ["invoke_agent"]
    assert parents("async work") == ["execute_tool look"]
    assert parents("plain work") == ["execute_tool query"]
    # The turn that a tool has of its own, and the one around it.
    assert sorted(parents("invoke_agent")) == ["async work", "request"]
    calls_made = [span for span in spans if span.name.startswith("execute_tool")]
    assert [attributes(span)["gen_ai.tool.name"] for span in calls_made] == ["look", "query"]
    for span in spans:
        assert (span.start_time or 0) <= (span.end_time or 0)


async def test_the_tools_of_a_turn_without_a_span_around_it_are_in_its_trace(mock_llm: Start) -> None:
    @tool
    async def work() -> str:
        with PROVIDER.get_tracer("app").start_as_current_span("work"):
            return "done"

    mock = mock_llm(calls(("work", {})), text("Done."))
    await Agent(mock.model, tools=[work]).conversation("traced-alone").send("Go")
    spans = KEPT.trace("traced-alone")
    assert {span.name for span in spans} >= {"invoke_agent", "execute_tool work", "work"}
    (turn,) = [span for span in spans if span.name == "invoke_agent"]
    assert turn.parent is None
