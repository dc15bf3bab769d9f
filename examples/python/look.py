import os
import sys

from stepwell import Agent, image

picture, base_url = sys.argv[1], next(iter(sys.argv[2:]), None)
agent = Agent(provider="openai", model="gpt-4o-mini", base_url=base_url, key=os.environ.get("OPENAI_API_KEY"))
print(agent.run_sync("What is this?", image(picture)).text)
