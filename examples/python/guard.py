"""A guard: it refuses a call, and an answer; with a base URL as the argument."""

import sys

from stepwell import Agent, Hook, Model, RefusedError, tool
from stepwell.hooks import HookedAnswer, HookedCall, Refused


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


class Guard(Hook):
    def before_tool(self, call: HookedCall) -> None:
        if call.invocation.arguments["name"].lower() == "bob":
            raise Refused("Bob's is his own")

    def after_answer(self, answer: HookedAnswer) -> None:
        if "42" in answer.text:
            raise Refused("it tells the number")


model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None))
try:
    print(Agent(model, tools=[get_secret_number], hooks=[Guard()]).run_sync("What are Alice's and Bob's secret numbers?").text)
except RefusedError as refused:
    print(refused)
