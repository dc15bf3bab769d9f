"""A turn that may cost a cent, and what it has cost."""

import sys

from stepwell import Agent, LimitReachedError, Model, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


base_url = next(iter(sys.argv[1:]), None)
try:
    agent = Agent(Model.openai("gpt-4o-mini", base_url=base_url), tools=[get_secret_number], limits={"max_cost": 0.01})
    print("{0.text} It cost ${0.cost:.7f}.".format(agent.run_sync("What are Alice's and Bob's secret numbers?")))
except LimitReachedError as stopped:
    print(stopped)
