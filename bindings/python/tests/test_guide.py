"""What `docs/python.md` shows beside its programs, run; the suite `docs` compares."""
# mypy: allow-untyped-defs, allow-untyped-decorators

from __future__ import annotations

import datetime
from typing import Annotated

from hypothesis import given
from pydantic import BaseModel, Field

from stepwell import Agent, Completed, Decision, MemoryStore, ThreadKey, ToolInvocation, tool
from stepwell.testing import text
from stepwell.testing.strategies import event_sequences
from stepwell.updates import Event


class Ticket(BaseModel):
    number: int


class Screen:
    """Shows a spinner for as long as a turn takes."""

    spinner = True

    def show(self, event: Event) -> None:
        self.spinner = not isinstance(event, Completed)


class Trip(BaseModel):
    start: str = Field(description="Where from.")
    day: datetime.date

@tool(requires_approval=True, timeout=30.0)
async def book(trip: Trip, seats: Annotated[int, Field(ge=1)] = 1) -> Ticket:
    """Books a trip."""
    return Ticket(number=seats)


key = "any"


async def confirm(question: str) -> bool:
    return question == "Run book?"

async def ask(call: ToolInvocation) -> Decision:
    return True if await confirm(f"Run {call.name}?") else "not now"

agent = Agent("openai:gpt-5-mini", tools=[book], approver=ask)

store = MemoryStore()


async def answer(user: str, chat: str, said: str) -> str:
    conversation = agent.conversation(ThreadKey(chat, room=user), store=store)
    return (await conversation.send(said)).text


def test_a_trip_is_described() -> None:
    assert "Where from." in str(book.parameters)


def test_it_greets(mock_llm):                          # the pytest plug-in's fixture
    mock = mock_llm(text("Hello"))                     # from stepwell.testing import text
    agent = Agent(mock.model)
    assert agent.run_sync("Hi").text == "Hello"
    assert mock.failures() == []                       # what a provider would have refused, and what tools raised

@given(event_sequences())                              # from stepwell.testing.strategies
def test_my_screen_ends_idle(events):
    screen = Screen()
    for event in events:
        screen.show(event)
    assert not screen.spinner
