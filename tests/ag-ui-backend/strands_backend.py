"""An AG-UI backend by AWS Strands, through `ag_ui_strands`."""

import json
from typing import Any

from ag_ui_strands import StrandsAgent, StrandsAgentConfig, ToolBehavior, create_strands_app
from strands import Agent, tool
from strands.models import Model

import script
from serving import serve


class Scripted(Model):
    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        question, results, calls = "", [], {}
        for message in messages:
            for block in message["content"]:
                if "text" in block and message["role"] == "user":
                    question, results = block["text"], []
                elif "toolUse" in block:
                    calls[block["toolUse"]["toolUseId"]] = block["toolUse"]["name"]
                elif "toolResult" in block:
                    result = block["toolResult"]
                    said = "".join(str(part.get("text", part.get("json"))) for part in result["content"])
                    results.append((calls[result["toolUseId"]], said))
        yield {"messageStart": {"role": "assistant"}}
        stop, open_kind = "end_turn", None
        async for kind, *step in script.steps(question, results, [spec["name"] for spec in tool_specs or []]):
            if kind != open_kind or kind == "call":
                if open_kind:
                    yield {"contentBlockStop": {}}
                start = {"toolUse": {"toolUseId": step[0], "name": step[1]}} if kind == "call" else {}
                yield {"contentBlockStart": {"start": start}}
                open_kind = kind
            if kind == "text":
                delta = {"text": step[0]}
            elif kind == "thought":
                delta = {"reasoningContent": {"text": step[0]}}
            else:
                delta, stop = {"toolUse": {"input": json.dumps(step[2])}}, "tool_use"
            yield {"contentBlockDelta": {"delta": delta}}
        if open_kind:
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


agent = Agent(model=Scripted(), tools=[tool(script.secret_number), delete_file], callback_handler=None)
config = StrandsAgentConfig(tool_behaviors={"delete_file": ToolBehavior(interrupt_on_call=True)})
serve(create_strands_app(StrandsAgent(agent, name="scripted", config=config), "/", cors_enabled=False))
