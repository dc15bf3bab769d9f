"""A first program that needs no key and no network: the model is a scripted one. `python scripted.py [BASE_URL]`"""

import sys

from stepwell import Agent, Model, TextUpdate, ToolCallUpdate, ToolOutput, tool
from stepwell.testing import MockLlm


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person.

    Args:
        name: The user's first name.
    """
    return {"alice": 42, "bob": 7}[name.lower()]


with MockLlm() as mock:
    model = Model.openai_compatible("mock", base_url=sys.argv[1]) if len(sys.argv) > 1 else mock.model
    agent = Agent(model, tools=[get_secret_number])
    for update in agent.stream_sync("What are Alice's and Bob's secret numbers?"):
        if isinstance(update, TextUpdate):
            print(update.delta, end="", flush=True)
        elif isinstance(update, ToolCallUpdate) and isinstance(update.result, ToolOutput):
            print(f"\n[{update.name}: {update.result.content}]")
    print()
