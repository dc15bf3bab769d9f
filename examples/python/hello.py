"""A question, two tool calls, an answer: `python hello.py [BASE_URL]`, with the key in OPENAI_API_KEY."""

import asyncio
import sys

from stepwell import Agent, Model, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


async def main() -> None:
    model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None))
    agent = Agent(model, tools=[get_secret_number])
    async with agent.stream("What are Alice's and Bob's secret numbers?") as turn:
        async for text in turn.text_stream:
            print(text, end="", flush=True)
    print()


asyncio.run(main())
