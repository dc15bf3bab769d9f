"""A tool that asks the user before it runs: `python approve.py [BASE_URL]`, with the key in OPENAI_API_KEY."""

import sys

from stepwell import Agent, Decision, Model, ToolInvocation, tool


@tool(requires_approval=True)
def pay(euros: int) -> str:
    """Pays a bill."""
    return f"paid {euros} euros"


def ask(call: ToolInvocation) -> Decision:
    return input(f"Pay {call.arguments['euros']} euros? ") == "yes" or "the user said no"


model = Model.openai("gpt-5-mini", base_url=next(iter(sys.argv[1:]), None))
print(Agent(model, tools=[pay], approver=ask).run_sync("Pay my bill of 5 euros.").text)
