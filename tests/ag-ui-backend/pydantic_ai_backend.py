"""An AG-UI backend by Pydantic AI, whose model follows a script: a word of the question says which.

It prints its address, and tells at /cancelled when a client has gone away in the middle of an answer.
"""

import asyncio
import socket

import uvicorn
from ag_ui.core import EventType, StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, ToolReturn
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

cancelled = asyncio.Event()


def question(messages):
    """What the person said last, and what the tools gave since."""
    text, results = "", []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                text, results = str(part.content), []
            elif isinstance(part, ToolReturnPart):
                results.append(part)
    return text, results


async def answer(messages, info):
    text, results = question(messages)
    tools = sorted(tool.name for tool in info.function_tools)
    if results:
        yield "The tools gave "
        yield ", ".join(f"{part.tool_name}={part.content}" for part in results)
        yield "."
    elif "hello" in text:
        yield "Hello "
        yield "there."
    elif "think" in text:
        yield {0: DeltaThinkingPart(content="Let me ")}
        yield {0: DeltaThinkingPart(content="see.", signature="sealed")}
        yield "I see."
    elif "both" in text:
        yield {0: DeltaToolCall("secret_number", '{"name"', tool_call_id="call-alice")}
        yield {0: DeltaToolCall(json_args=': "alice"}')}
        yield {1: DeltaToolCall("secret_number", '{"name": "bob"}', tool_call_id="call-bob")}
    elif "app" in text:
        assert "location" in tools, tools
        yield "Where are you? "
        yield {0: DeltaToolCall("location", '{"exact": true}', tool_call_id="call-location")}
        yield {1: DeltaToolCall("battery", "{}", tool_call_id="call-battery")}
    elif "mixed" in text:
        yield {0: DeltaToolCall("secret_number", '{"name": "alice"}', tool_call_id="call-alice")}
        yield {1: DeltaToolCall("location", '{"exact": false}', tool_call_id="call-location")}
    elif "which" in text:
        yield {0: DeltaToolCall("colour_now", "{}", tool_call_id="call-colour-now")}
    elif "change" in text:
        yield {0: DeltaToolCall("set_colour", '{"colour": "blue"}', tool_call_id="call-colour")}
    elif "delete" in text:
        yield {0: DeltaToolCall("delete_file", '{"path": "a.txt"}', tool_call_id="call-delete-a")}
        yield {1: DeltaToolCall("delete_file", '{"path": "b.txt"}', tool_call_id="call-delete-b")}
    elif "fail" in text:
        yield "So far"
        raise RuntimeError("the model fell over")
    elif "wait" in text:
        try:
            yield "One"
            await asyncio.Event().wait()
        finally:
            cancelled.set()
    else:
        yield f"I heard `{text}`."


class Shared(BaseModel):
    """The state that the client and the agent share."""

    colour: str = ""
    sizes: list[int] = []


agent = Agent(
    FunctionModel(stream_function=answer),
    deps_type=StateDeps[Shared],
    output_type=[str, DeferredToolRequests],
)


@agent.tool_plain
def secret_number(name: str) -> int:
    return {"alice": 42, "bob": 7}[name]


@agent.tool
def colour_now(context: RunContext[StateDeps[Shared]]) -> str:
    return context.deps.state.colour


@agent.tool_plain
def set_colour(colour: str) -> ToolReturn:
    return ToolReturn(
        return_value="done",
        metadata=[
            StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"colour": "red", "sizes": [1]}),
            StateDeltaEvent(
                type=EventType.STATE_DELTA,
                delta=[
                    {"op": "replace", "path": "/colour", "value": colour},
                    {"op": "add", "path": "/sizes/-", "value": 2},
                ],
            ),
        ],
    )


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    return f"{path} is gone"


async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent, deps=StateDeps(Shared()))


async def wait_for_cancel(_: Request) -> Response:
    await cancelled.wait()
    return PlainTextResponse("cancelled")


app = Starlette(routes=[Route("/", run, methods=["POST"]), Route("/cancelled", wait_for_cancel)])


async def main() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await server.serve(sockets=[listener])


asyncio.run(main())
