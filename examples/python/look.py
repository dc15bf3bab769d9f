import sys

from stepwell import Agent, Model, image

picture, base_url = sys.argv[1], next(iter(sys.argv[2:]), None)
agent = Agent(Model.openai("gpt-4o-mini", base_url=base_url))
print(agent.run_sync("What is this?", image(picture)).text)
