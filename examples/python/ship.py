import os
import sys
from typing import Literal

from stepwell import Agent, Question, ToolContext, ToolInvocation, tool


@tool
async def ship(context: ToolContext[str], parcel: str) -> str:
    """Ships a parcel."""
    context.report(0.5, f"{parcel} is packed")
    speed = await context.ask(f"How fast shall {parcel} go?", Literal["today", "this week"])
    return f"{parcel} leaves {context.deps} {speed or 'later'}"


def ask_the_user(call: ToolInvocation, question: Question) -> str | None:
    return input(f"{question.message} {question.schema['enum']} ") or None


base_url, key = next(iter(sys.argv[1:]), None), os.environ.get("OPENAI_API_KEY")
agent = Agent(model="gpt-4o-mini", provider="openai", base_url=base_url, key=key, tools=[ship], deps="Bergen", answerer=ask_the_user)
print(agent.run_sync("Ship the parcel for Alice.").text)
