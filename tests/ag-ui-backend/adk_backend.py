"""An AG-UI backend by Google's ADK, through `ag_ui_adk`, which says by the run's outcome what it asks."""

from ag_ui_adk import ADKAgent, AGUIToolset, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

import script
from serving import serve


class Scripted(BaseLlm):
    model: str = "scripted"

    async def generate_content_async(self, llm_request, stream=False):
        question, results = "", []
        for content in llm_request.contents:
            for part in content.parts or []:
                if part.text and content.role == "user":
                    question, results = part.text, []
                elif part.function_response:
                    response = part.function_response
                    results.append((response.name, (response.response or {}).get("result", response.response)))
        whole = []
        async for kind, *step in script.steps(question, results, list(llm_request.tools_dict)):
            if kind == "call":
                call, name, arguments = step
                part = types.Part(function_call=types.FunctionCall(id=call, name=name, args=arguments))
            else:
                part = types.Part(text=step[0], thought=kind == "thought" or None)
                yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
                if part.thought:
                    continue
                if whole and whole[-1].text:
                    part = types.Part(text=whole.pop().text + step[0])
            whole.append(part)
        yield LlmResponse(content=types.Content(role="model", parts=whole), turn_complete=True)


def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


agent = LlmAgent(
    name="scripted",
    model=Scripted(),
    tools=[script.secret_number, FunctionTool(delete_file, require_confirmation=True), AGUIToolset()],
)
app = FastAPI()
served = ADKAgent(adk_agent=agent, app_name="scripted", user_id="person", emit_interrupt_outcome=True)
add_adk_fastapi_endpoint(app, served, "/")
serve(app)
