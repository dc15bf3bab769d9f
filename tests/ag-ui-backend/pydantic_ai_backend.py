"""An AG-UI backend by Pydantic AI. It tells at /cancelled when a client has gone away in the middle of an answer."""

import json

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

import script
from serving import serve


def question(messages):
    """What the user said last, and what the tools gave since."""
    text, results = "", []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                text, results = str(part.content), []
            elif isinstance(part, ToolReturnPart):
                results.append((part.tool_name, part.content))
    return text, results


async def answer(messages, info):
    text, results = question(messages)
    index = 0
    async for kind, *step in script.steps(text, results, [tool.name for tool in info.function_tools]):
        if kind == "text":
            yield step[0]
        elif kind == "thought":
            yield {0: DeltaThinkingPart(content=step[0], signature="sealed" if step[0] == "see." else None)}
        else:
            call, tool, arguments = step
            # In two pieces.
            arguments = json.dumps(arguments)
            yield {index: DeltaToolCall(tool, arguments[:1], tool_call_id=call)}
            yield {index: DeltaToolCall(json_args=arguments[1:])}
            index += 1


class Shared(BaseModel):
    """The state that the client and the agent share."""

    colour: str = ""
    sizes: list[int] = []


agent = Agent(
    FunctionModel(stream_function=answer),
    deps_type=StateDeps[Shared],
    output_type=[str, DeferredToolRequests],
)
agent.tool_plain(script.secret_number)


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
    await script.cancelled.wait()
    return PlainTextResponse("cancelled")


serve(Starlette(routes=[Route("/", run, methods=["POST"]), Route("/cancelled", wait_for_cancel)]))
