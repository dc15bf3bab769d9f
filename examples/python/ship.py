import sys
from typing import Literal

from stepwell import Agent, Model, Question, ToolContext, ToolInvocation, tool


@tool
async def ship(context: ToolContext[str], parcel: str) -> str:
    """Ships a parcel."""
    context.report(0.5, f"{parcel} is packed")
    speed = await context.ask(f"How fast shall {parcel} go?", Literal["today", "this week"])
    return f"{parcel} leaves {context.deps} {speed or 'later'}"


def ask_the_user(call: ToolInvocation, question: Question) -> str | None:
    return input(f"{question.message} {question.schema['enum']} ") or None


model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None))
agent = Agent(model, tools=[ship], deps_type=str, answerer=ask_the_user)
print(agent.run_sync("Ship the parcel for Alice.", deps="Bergen").text)
