from stepwell import Agent

print(Agent("openai:gpt-5-mini").run_sync("Where is Bergen?").text)
