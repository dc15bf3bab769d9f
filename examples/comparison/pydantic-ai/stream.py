import asyncio

from pydantic_ai import Agent


async def main() -> None:
    async with Agent("openai-chat:gpt-5-mini").run_stream("Where is Bergen?") as result:
        async for text in result.stream_text(delta=True):
            print(text, end="", flush=True)


asyncio.run(main())
