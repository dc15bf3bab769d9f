import sys

from stepwell import Agent, Model, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None))
agent = Agent(model, tools=[get_secret_number])
print(agent.run_sync("What are Alice's and Bob's secret numbers?").text)
