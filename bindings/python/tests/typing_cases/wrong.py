"""What a type checker refuses: each line with the mark has an error, and no other line."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell import Agent, Model, UserMessage


@dataclass
class Trip:
    city: str
    days: int


@dataclass
class Db:
    address: str


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
