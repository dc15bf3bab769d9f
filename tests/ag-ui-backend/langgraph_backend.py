"""An AG-UI backend by LangGraph, through `ag-ui-langgraph` as it is set up by default."""

import json

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

import script
from serving import serve


def part(index: int, **fields) -> AIMessageChunk:
    return AIMessageChunk(content="", tool_call_chunks=[{"index": index, "type": "tool_call_chunk", **fields}])


class Scripted(BaseChatModel):
    tools: list = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError("it streams")

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        whole = AIMessageChunk(content="")
        async for chunk in self._astream(messages):
            whole += chunk.message
        return ChatResult(generations=[ChatGeneration(message=AIMessage(whole.content, tool_calls=whole.tool_calls))])

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        question, results, calls = "", [], {}
        for message in messages:
            if isinstance(message, HumanMessage):
                question, results = str(message.content), []
            elif isinstance(message, AIMessage):
                calls |= {call["id"]: call["name"] for call in message.tool_calls}
            elif isinstance(message, ToolMessage):
                results.append((calls[message.tool_call_id], message.content))
        index, thinks = 0, False
        async for kind, *step in script.steps(question, results, self.tools):
            chunks = []
            if kind == "thought":
                thinks = True
                chunks.append(AIMessageChunk(content=[{"type": "thinking", "thinking": step[0], "index": 0}]))
            elif kind == "text":
                # A model that thinks answers in blocks.
                content = [{"type": "text", "text": step[0], "index": 1}] if thinks else step[0]
                chunks.append(AIMessageChunk(content=content))
            else:
                call, tool, arguments = step
                chunks.append(part(index, id=call, name=tool, args=""))
                chunks.append(part(index, id=None, name=None, args=json.dumps(arguments)))
                index += 1
            for chunk in chunks:
                yield ChatGenerationChunk(message=chunk)


class State(MessagesState):
    tools: list


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    answer = interrupt({"message": f"Delete {path}?", "path": path})
    return f"{path} is gone" if answer["approved"] else answer["reason"]


TOOLS = {own.name: own for own in (tool(script.secret_number), delete_file)}


async def model(state: State):
    names = [spec["name"] for spec in state.get("tools", [])]
    questions = [message.content for message in state["messages"] if isinstance(message, HumanMessage)]
    # What is not streamed comes with the snapshot at the end of the run alone.
    scripted = Scripted(tools=names, disable_streaming="quietly" in questions[-1])
    return {"messages": [await scripted.ainvoke(state["messages"])]}


def own_calls(state: State):
    """The agent's own tools run side by side; those of the app are left to it."""
    calls = state["messages"][-1].tool_calls
    return [Send("tool", call) for call in calls if call["name"] in TOOLS] or END


async def run_tool(call):
    return {"messages": [await TOOLS[call["name"]].ainvoke(call)]}


def is_all_answered(state: State):
    answered = {message.tool_call_id for message in state["messages"] if isinstance(message, ToolMessage)}
    asked = [call["id"] for message in state["messages"] for call in getattr(message, "tool_calls", [])]
    return "model" if answered.issuperset(asked) else END


graph = StateGraph(State)
graph.add_node("model", model)
graph.add_node("tool", run_tool)
graph.add_node("join", lambda state: {})
graph.add_edge(START, "model")
graph.add_conditional_edges("model", own_calls, ["tool", END])
graph.add_edge("tool", "join")
graph.add_conditional_edges("join", is_all_answered, ["model", END])

app = FastAPI()
compiled = graph.compile(checkpointer=MemorySaver())
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="scripted", graph=compiled), "/")
serve(app)
