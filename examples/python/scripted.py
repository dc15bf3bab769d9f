"""A first program that needs no key and no network: the model is a scripted one. `python scripted.py [BASE_URL]`"""

import sys

from stepwell import Agent, TextMessageContent, ToolCallUpdate, ToolOutput, tool
from stepwell.testing import MockLlm


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person.

    Args:
        name: The user's first name.
    """
    return {"alice": 42, "bob": 7}[name.lower()]


with MockLlm() as model:
    base_url = sys.argv[1] if len(sys.argv) > 1 else model.base_url
    agent = Agent(provider="openai-compatible", model="mock", base_url=base_url, tools=[get_secret_number])
    turn = agent.send_sync("What are Alice's and Bob's secret numbers?")
    for event in turn:
        if isinstance(event, TextMessageContent):
            print(event.delta, end="", flush=True)
        elif isinstance(event, ToolCallUpdate) and isinstance(event.result, ToolOutput):
            print(f"\n[{event.name}: {event.result.content}]")
    print()
