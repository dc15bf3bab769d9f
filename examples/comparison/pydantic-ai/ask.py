from pydantic_ai import Agent

print(Agent("openai-chat:gpt-5-mini").run_sync("Where is Bergen?").output)
