"""An AG-UI backend by Agno, through the interface of its AgentOS.

It pauses for a tool that wants the user's approval as for a tool of the app: the app answers the call with `accepted`.
"""

import json
from dataclasses import dataclass

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.tools import tool
from fastapi import FastAPI

import script
from serving import serve


@dataclass
class Scripted(Model):
    id: str = "scripted"

    def invoke(self, *args, **kwargs):
        raise NotImplementedError("it streams")

    async def ainvoke(self, *args, **kwargs):
        raise NotImplementedError("it streams")

    def invoke_stream(self, *args, **kwargs):
        raise NotImplementedError("it streams")

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response

    async def ainvoke_stream(self, messages, assistant_message, tools=None, **kwargs):
        question, results, calls = "", [], {}
        for message in messages:
            if message.role == "user":
                question, results = str(message.content), []
            for call in message.tool_calls or []:
                calls[call["id"]] = call["function"]["name"]
            if message.role == "tool":
                results.append((calls[message.tool_call_id], message.content))
        names = [spec["function"]["name"] for spec in tools or []]
        async for kind, *step in script.steps(question, results, names):
            if kind == "text":
                yield ModelResponse(role="assistant", content=step[0])
            elif kind == "thought":
                yield ModelResponse(role="assistant", reasoning_content=step[0])
            else:
                call, name, arguments = step
                function = {"name": name, "arguments": json.dumps(arguments)}
                yield ModelResponse(role="assistant", tool_calls=[{"id": call, "type": "function", "function": function}])


@tool(requires_confirmation=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


agent = Agent(
    model=Scripted(),
    tools=[script.secret_number, delete_file],
    db=InMemoryDb(),
    add_history_to_context=True,
    telemetry=False,
)
app = FastAPI()
app.include_router(AGUI(agent=agent).get_router())


# The interface has a path of its own.
@app.middleware("http")
async def at_the_root(request, call_next):
    if request.scope["path"] == "/":
        request.scope["path"] = "/agui"
    return await call_next(request)


serve(app)
