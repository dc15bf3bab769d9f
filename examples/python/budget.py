"""A turn that may cost a cent, and what it has cost."""

import os
import sys

from stepwell import Agent, Limits, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


url, key = next(iter(sys.argv[1:]), None), os.environ.get("OPENAI_API_KEY")
tools, limits = [get_secret_number], Limits(max_cost=0.01)
agent = Agent(provider="openai", model="gpt-4o-mini", base_url=url, key=key, tools=tools, limits=limits)
finished = agent.run_sync("What are Alice's and Bob's secret numbers?", raise_on_error=False)
print(finished.text, f"It cost ${finished.usage.cost:.7f}: {finished.outcome}")
