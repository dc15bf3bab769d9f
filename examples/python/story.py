"""An answer that survives a broken connection: with the key in OPENAI_API_KEY, or with a base URL as the argument."""

import sys

from stepwell import Agent, Model

agent = Agent(Model.openai("gpt-5", base_url=next(iter(sys.argv[1:]), None), background=True))
print(agent.run_sync("Write a long story about otters in space.").text)
