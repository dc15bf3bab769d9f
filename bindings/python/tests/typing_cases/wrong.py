"""What a type checker refuses: each line with the mark has an error, and no other line."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell import Agent, Model, ToolContext, UserMessage, tool


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


trips = Agent("openai:gpt-5-mini", output_type=Trip)
with_db = Agent("openai:gpt-5-mini", deps_type=Db)
plain = Agent("openai:gpt-5-mini")


async def answers() -> None:
    (await trips.run("Norway")).output.dayz  # wrong
    (await trips.run("Norway")).output + "oops"  # wrong
    (await plain.run("Norway", output_type=Trip)).output.dayz  # wrong
    (await plain.run("Norway")).output.days  # wrong
    (await trips.stream("Norway").result()).output.dayz  # wrong
    trips.run_sync("Norway").output.dayz  # wrong
    (await trips.conversation().send("Norway")).output.dayz  # wrong
    (await plain.run("Norway", output_type=(str, Trip))).output.days  # wrong


async def dependencies() -> None:
    await with_db.run("Hi", deps="here")  # wrong
    await plain.run("Hi", deps=Db("here"))  # wrong
    await with_db.conversation().send("Hi", deps=3)  # wrong
    with_db.stream("Hi", deps="here")  # wrong


def tools() -> None:
    Agent("openai:gpt-5-mini", tools=[look])  # wrong
    Agent("openai:gpt-5-mini", tools=[look], deps_type=Trip)  # wrong
    Agent("openai:gpt-5-mini", tools=[look], output_type=Trip)  # wrong
    Agent("openai:gpt-5-mini", tools=[look], output_type=Trip, deps_type=str)  # wrong
    Agent("openai:gpt-5-mini", tools=[look], output_type=str | Trip, deps_type=Trip)  # wrong
    Agent("openai:gpt-5-mini", tools=[3])  # wrong


async def options() -> None:
    await plain.run(3)  # wrong
    await plain.run("Hi", temprature=1.0)  # wrong
    await plain.run("Hi", temperature="hot")  # wrong
    Agent("openai:gpt-5-mini", key="sk")  # wrong
    Agent(3)  # wrong
    Model.openai("gpt-5-mini", api_key=3)  # wrong
    Model.opnai("gpt-5-mini")  # wrong
    plain.conversation(history=["Hi"])  # wrong
    UserMessage("Hi").txt  # wrong
