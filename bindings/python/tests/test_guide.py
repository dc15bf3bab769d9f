"""What `docs/python.md` shows beside its programs, run; the suite `docs` compares."""
# mypy: allow-untyped-defs, allow-untyped-decorators

from __future__ import annotations

import datetime
from typing import Annotated

from hypothesis import given
from pydantic import BaseModel, Field

from stepwell import Agent, Decision, MemoryStore, ThreadKey, ToolCallUpdate, ToolInvocation, tool
from stepwell.testing import text
from stepwell.testing.strategies import update_sequences
from stepwell.updates import CallKey, ToolCallStatus, Update


class Ticket(BaseModel):
    number: int


class Screen:
    """Shows which calls run."""

    def __init__(self) -> None:
        self.running: set[CallKey] = set()

    def show(self, update: Update) -> None:
        if isinstance(update, ToolCallUpdate):
            self.running.discard(update.call)
            if update.status is ToolCallStatus.EXECUTING:
                self.running.add(update.call)


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


async def decide(user: str, chat: str, call: str, allowed: bool) -> None:
    conversation = agent.conversation(ThreadKey(chat, room=user), store=store)
    await (conversation.approve(call) if allowed else conversation.deny(call, "not now"))


def test_a_trip_is_described() -> None:
    assert "Where from." in str(book.parameters)


def test_it_greets(mock_llm):                          # the pytest plug-in's fixture
    mock = mock_llm(text("Hello"))                     # from stepwell.testing import text
    agent = Agent(mock.model)
    assert agent.run_sync("Hi").text == "Hello"
    assert mock.failures() == []                       # what a provider would have refused, and what tools raised

@given(update_sequences())                             # from stepwell.testing.strategies
def test_my_screen_ends_idle(updates):
    screen = Screen()
    for update in updates:
        screen.show(update)
    assert not screen.running
