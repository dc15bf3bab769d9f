from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5-mini")


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


print(agent.run_sync("How is the weather in Bergen?").output)
