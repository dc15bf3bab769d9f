from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5-mini")
users = {}
for name in ("ada", "bob"):
    users[name] = agent.run_sync(f"I am {name}.").all_messages()
for name, history in users.items():
    result = agent.run_sync("Who am I?", message_history=history)
    users[name] = result.all_messages()
    print(name, result.output)
