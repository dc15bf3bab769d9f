"""Asks the model that is named: `python any_model.py anthropic:claude-sonnet-4-5`, with the provider's key in its variable."""

import sys

from stepwell import Agent, Model

model = Model(sys.argv[1], base_url=next(iter(sys.argv[2:]), None))
print(Agent(model).run_sync("Where is Bergen?").text)
