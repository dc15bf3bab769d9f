import asyncio

from stepwell import Agent, SqliteStore, ToolInvocation, tool


@tool(requires_approval=True)
def pay(euros: int) -> str:
    """Pays a bill."""
    return f"paid {euros} euros"


def ask(call: ToolInvocation) -> bool:
    return input(f"Pay {call.arguments['euros']} euros? ") == "yes"


async def main() -> None:
    agent = Agent("openai:gpt-5-mini", tools=[pay], approver=ask, store=await SqliteStore.open("bills.db"))
    left = [each.turn for each in await agent.recover() if each.turn]
    turn = left[0] if left else agent.conversation("bill").stream("Pay my bill.")
    print((await turn.result()).text)


asyncio.run(main())
