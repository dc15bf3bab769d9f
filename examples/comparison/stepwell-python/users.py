from stepwell import Agent

agent = Agent("openai:gpt-5-mini")
users = {name: agent.conversation(name) for name in ("ada", "bob")}
for name, conversation in users.items():
    conversation.send_sync(f"I am {name}.")
for name, conversation in users.items():
    print(name, conversation.send_sync("Who am I?").text)
