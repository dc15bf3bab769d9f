"""A conversation that outlives its process: `python stored.py DATABASE [BASE_URL]`, with the key in OPENAI_API_KEY."""

import asyncio
import sys

from own_store import OwnStore
from stepwell import Agent, Model, SessionStore


async def main() -> None:
    store = SessionStore(OwnStore(sys.argv[1]))
    agent = Agent(Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[2:]), None)), store=store)
    for recovered in await agent.recover():  # what a process that was killed has left
        if recovered.turn is not None:
            await recovered.turn.result()
    print((await agent.conversation("diary").send("What have I said so far?")).text)
    for thread in await store.threads():
        print(thread.title, len(await store.turns(thread.key)))


asyncio.run(main())
