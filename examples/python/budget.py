"""A turn that may cost a cent, and what it has cost."""

import sys

from stepwell import Agent, LimitReachedError, Model, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


model, limits = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None)), {"max_cost": 0.01}
try:
    result = Agent(model, tools=[get_secret_number], limits=limits).run_sync("What are Alice's and Bob's secret numbers?")
    print(f"{result.text} It cost ${result.cost or 0:.7f}.")
except LimitReachedError as stopped:
    print(stopped)
