"""A question, two tool calls, an answer: `python hello.py [BASE_URL]`, with the key in OPENAI_API_KEY."""

import asyncio
import os
import sys

from stepwell import Agent, TextMessageContent, tool


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


async def main() -> None:
    base_url = sys.argv[1] if len(sys.argv) > 1 else None
    key = os.environ.get("OPENAI_API_KEY")
    agent = Agent(provider="openai", model="gpt-4o-mini", base_url=base_url, key=key, tools=[get_secret_number])
    turn = agent.send("What are Alice's and Bob's secret numbers?")
    async for event in turn:
        if isinstance(event, TextMessageContent):
            print(event.delta, end="", flush=True)
    print()


asyncio.run(main())
