"""A turn in OpenTelemetry's traces: what it did is printed, a line a span."""

import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from stepwell import Agent, Model, tool
from stepwell.tracing import instrument


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: f"{span.name}\n")))
instrument(tracer_provider=provider)
model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None))
agent = Agent(model, tools=[get_secret_number])
print(agent.run_sync("What are Alice's and Bob's secret numbers?").text)
