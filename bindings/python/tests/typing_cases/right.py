"""What a type checker sees of agents: each line checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from typing_extensions import assert_type

from stepwell import Agent, Conversation, Model, ToolContext, Turn, TurnResult, UserMessage, tool
from stepwell.messages import Message
from stepwell.sync import SyncTurn


@dataclass
class Trip:
    city: str
    days: int


@dataclass
class Db:
    address: str


@tool
async def look(context: ToolContext[Db], city: str) -> str:
    return f"{city} at {context.deps.address}"


class Remote(Db):
    """A database elsewhere."""


class Counter:
    def count(self, city: str) -> int:
        return len(city)


@tool(requires_approval=True)
def delete(context: ToolContext[Db], path: str) -> str:
    return path


@tool
def echo(value: object) -> str:
    return str(value)


def shout(text: str) -> str:
    return text.upper()


def anything() -> list[Callable[..., Any]]:
    return [shout]


plain = Agent("openai:gpt-5-mini")
assert_type(plain, Agent[None, str])
trips = Agent(Model.openai("gpt-5-mini"), output_type=Trip, instructions="Plan.", temperature=0.5, limits={"max_cost": 1.0})
assert_type(trips, Agent[None, Trip])
several = Agent("openai:gpt-5-mini", output_type=list[Trip])
assert_type(several, Agent[None, list[Trip]])
either = Agent("openai:gpt-5-mini", output_type=(str, Trip))
assert_type(either, Agent[None, str | Trip])
with_db = Agent("openai:gpt-5-mini", tools=[look], deps_type=Db)
assert_type(with_db, Agent[Db, str])
both = Agent("openai:gpt-5-mini", tools=[look], deps_type=Db, output_type=Trip)
assert_type(both, Agent[Db, Trip])
remote = Agent("openai:gpt-5-mini", tools=[look, delete, echo, shout, Counter().count, partial(shout, "x")], deps_type=Remote)
assert_type(remote, Agent[Remote, str])
without = Agent("openai:gpt-5-mini", tools=[echo, shout, lambda x: x, *anything()])
assert_type(without, Agent[None, str])
declared: Agent[None, str | Trip] = Agent("openai:gpt-5-mini", output_type=str | Trip)
bare: Agent = plain


async def runs() -> None:
    assert_type(await plain.run("Hi"), TurnResult[str])
    assert_type((await trips.run("Norway")).output, Trip)
    assert_type(await plain.run("Norway", output_type=Trip), TurnResult[Trip])
    assert_type((await plain.run("Norway", output_type=(str, Trip))).output, str | Trip)
    assert_type((await trips.run("Hi", output_type=str)).output, str)
    assert_type(await both.run("Norway", deps=Db("here"), temperature=0.0, model="openai:gpt-5"), TurnResult[Trip])
    assert_type(trips.stream("Norway"), Turn[Trip])
    assert_type(plain.stream("Norway", output_type=Trip), Turn[Trip])
    async with trips.stream("Norway") as turn:
        assert_type(turn, Turn[Trip])
        async for text in turn.text_stream:
            assert_type(text, str)
        assert_type((await turn.result()).output.days, int)


def without_a_loop() -> None:
    assert_type(trips.run_sync("Norway").output, Trip)
    assert_type(trips.stream_sync("Norway"), SyncTurn[Trip])
    assert_type(plain.run_sync("Norway", output_type=Trip).output, Trip)


async def conversations() -> None:
    conversation = trips.conversation("c", history=[UserMessage("Hi")])
    assert_type(conversation, Conversation[None, Trip])
    assert_type(await conversation.send("Norway"), TurnResult[Trip])
    assert_type(await conversation.send("Norway", output_type=str), TurnResult[str])
    assert_type(conversation.stream("Norway"), Turn[Trip])
    assert_type(conversation.messages[0], Message)
    await with_db.conversation().send("Hi", deps=Db("here"))
