from stepwell import Agent, tool


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


agent = Agent("openai:gpt-5-mini", tools=[get_weather])
print(agent.run_sync("How is the weather in Bergen?").text)
