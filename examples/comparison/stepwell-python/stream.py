import asyncio

from stepwell import Agent


async def main() -> None:
    async with Agent("openai:gpt-5-mini").stream("Where is Bergen?") as turn:
        async for text in turn.text_stream:
            print(text, end="", flush=True)


asyncio.run(main())
