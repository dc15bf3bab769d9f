"""An agent for AG-UI clients and for chats of the AI SDK: ``uvicorn serve:app``."""

import os

from stepwell import Agent, Model, tool
from stepwell.asgi import AgUiApp


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name]


url = os.environ.get("MODEL_URL", "http://localhost:11434/v1")
app = AgUiApp(Agent(Model.openai_compatible("any", base_url=url), tools=[get_secret_number]))
