"""A conversation that outlives its process: `python stored.py DATABASE [BASE_URL]`, with the key in OPENAI_API_KEY."""

import asyncio
import os
import sys

from own_store import OwnStore
from stepwell import Agent, SessionStore


async def main() -> None:
    base_url = sys.argv[2] if len(sys.argv) > 2 else None
    key = os.environ.get("OPENAI_API_KEY")
    store = SessionStore(OwnStore(sys.argv[1]))
    agent = Agent(
        provider="openai", model="gpt-4o-mini", base_url=base_url, key=key, store=store, thread_id="diary"
    )
    for recovered in await agent.recover():  # what a process that was killed has left
        if recovered.turn is not None:
            await recovered.turn.finish()
    print((await agent.send("What have I said so far?")).text)
    for thread in await store.threads():
        print(thread.title, len(await store.turns(thread.key)))


asyncio.run(main())
