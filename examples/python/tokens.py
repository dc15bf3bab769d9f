"""A key that expires, and a turn that is otherwise than its agent: with a base URL as the argument."""

import sys

from stepwell import Agent, Model
from stepwell.callbacks import CredentialRequest


async def token(request: CredentialRequest) -> str:
    """Stands for the app's own way to a token: from its cache, or anew."""
    return "new" if request.rejected else "old"


model = Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None), api_key=token)
agent = Agent(model, instructions="Answer in full sentences.")
print(agent.run_sync("What is the capital of Norway?", instructions="Answer in one word.", user="user-7").text)
