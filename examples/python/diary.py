"""A conversation in a file, which a later process continues: `python diary.py FILE [BASE_URL]`."""

import asyncio
import sys

from stepwell import Agent, Model, SqliteStore


async def main() -> None:
    store = await SqliteStore.open(sys.argv[1])
    agent = Agent(Model.openai("gpt-5-mini", base_url=next(iter(sys.argv[2:]), None)), store=store)
    for left in await agent.recover():  # a turn that was under way when its process was killed
        if left.turn is not None:
            print((await left.turn.result()).text)
    print((await agent.conversation("diary").send("What have I said so far?")).text)


asyncio.run(main())
