import os
import sys

from stepwell import Agent, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


base_url, key = next(iter(sys.argv[1:]), None), os.environ.get("OPENAI_API_KEY")
agent = Agent(provider="openai", model="gpt-4o-mini", base_url=base_url, key=key, tools=[get_secret_number])
print(agent.run_sync("What are Alice's and Bob's secret numbers?").text)
