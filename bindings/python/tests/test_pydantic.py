"""Pydantic's models as arguments and results of tools, where an app has Pydantic."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest
from conftest import MockLlm, calls, text
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass

from stepwell import Agent, MisuseError, Model, ToolCallUpdate, ToolError, tool
from stepwell.testing import play
from stepwell.updates import ToolFailure, ToolFailureKind


class Place(BaseModel):
    """Where something is."""

    model_config = ConfigDict(extra="forbid")

    city: str = Field(description="The city's name.", min_length=1)
    country: str = "NO"


class Trip(BaseModel):
    start: Place
    stops: list[Place] = []
    day: datetime.date
    kind: Literal["car", "train"] = "train"

    @field_validator("day")
    @classmethod
    def not_long_ago(cls, day: datetime.date) -> datetime.date:
        if day.year < 2000:
            raise ValueError("that is long ago")
        return day


class Folder(BaseModel):
    name: str
    children: list[Folder] = []


@dataclass
class Point:
    x: int
    y: int = Field(default=0, ge=0)


def other_place() -> Any:
    class Place(BaseModel):
        street: str

    return Place


def test_a_models_schema() -> None:
    @tool
    def book(trip: Trip, back: Optional[Place] = None) -> None:
        """Books a trip.

        Args:
            trip: Where to.
        """

    schema = book.parameters
    assert schema["required"] == ["trip"]
    assert schema["properties"]["trip"]["description"] == "Where to."
    assert schema["properties"]["trip"]["properties"]["stops"]["items"] == {"$ref": "#/$defs/Place"}
    assert schema["$defs"]["Place"]["properties"]["city"] == {
        "type": "string",
        "title": "City",
        "description": "The city's name.",
        "minLength": 1,
    }
    assert schema["$defs"]["Place"]["description"] == "Where something is."


def test_models_that_hold_themselves_and_models_of_one_name() -> None:
    other = other_place()

    def move(tree: Folder, a: Trip, b: list[Any]) -> None: ...

    class Both(BaseModel):
        places: list[other]  # type: ignore[valid-type]

    def go(a: Trip, b: Any) -> None: ...

    go.__annotations__["b"] = Both
    schema = tool(move).parameters
    assert schema["$defs"]["Folder"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Folder"}
    schema = tool(go).parameters
    assert set(schema["$defs"]) == {"Place", "Place_2"}
    assert schema["properties"]["b"]["properties"]["places"]["items"] == {"$ref": "#/$defs/Place_2"}
    assert "street" in schema["$defs"]["Place_2"]["properties"]
    # The core takes them all.
    Agent(Model.openai_compatible("m", base_url="http://localhost"), tools=[move, go])


async def test_functions_get_models() -> None:
    got: dict[str, Any] = {}

    @tool
    def book(
        trip: Trip, stops: list[Place], point: Point, count: Annotated[int, Field(ge=1, description="How many.")] = 1
    ) -> None:
        got.update(locals())

    assert book.parameters["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many.",
        "default": 1,
    }
    day = "2026-05-17"
    await book.run(
        {"trip": {"start": {"city": "Bergen"}, "day": day}, "stops": [{"city": "Voss"}], "point": {"x": 1}, "count": 2}
    )
    assert got["trip"] == Trip(start=Place(city="Bergen"), day=datetime.date(2026, 5, 17))
    assert got["stops"] == [Place(city="Voss")]
    assert (got["point"], got["count"]) == (Point(1, 0), 2)


async def test_what_a_validator_says_is_told() -> None:
    @tool
    def book(trip: Trip) -> None: ...

    with pytest.raises(ToolError) as caught:
        await book.run({"trip": {"start": {"city": ""}, "day": "1999-01-01"}})
    assert str(caught.value) == (
        "the argument `trip` does not fit: start.city: String should have at least 1 character; "
        "day: Value error, that is long ago"
    )
    assert "pydantic.dev" not in str(caught.value)


async def test_the_model_is_told_what_does_not_fit(mock_llm: Callable[..., MockLlm]) -> None:
    @tool
    def book(trip: Trip) -> str:
        raise AssertionError("it was run")

    mock = mock_llm(calls(("book", {"trip": {"start": {"city": "Oslo"}, "day": "1999-01-01"}})), text("Sorry"))
    agent = Agent(mock.model, tools=[book])
    (result,) = [e.result async for e in agent.stream("Go") if isinstance(e, ToolCallUpdate) and e.result]
    assert isinstance(result, ToolFailure) and result.kind is ToolFailureKind.ERROR
    assert "that is long ago" in result.message


def test_arguments_that_break_a_models_schema_do_not_reach_it() -> None:
    @tool
    def book(trip: Trip) -> None: ...

    played = play(calls(("book", {"trip": {"start": {}}})), tools=[book])
    (result,) = [event.result for event in played.events if isinstance(event, ToolCallUpdate) and event.result]
    assert isinstance(result, ToolFailure) and result.kind is ToolFailureKind.REJECTED


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (Place(city="Ås"), '{"city": "Ås", "country": "NO"}'),
        ([Point(1)], '[{"x": 1, "y": 0}]'),
        (
            {"trip": Trip(start=Place(city="A"), day=datetime.date(2026, 5, 17))},
            '{"trip": {"start": {"city": "A", "country": "NO"}, "stops": [], "day": "2026-05-17", "kind": "train"}}',
        ),
    ],
)
async def test_results_that_are_models(result: Any, shown: str) -> None:
    @tool
    def give() -> Any:
        return result

    assert await give.run({}) == shown


def test_a_field_as_a_default_is_refused() -> None:
    def wrong(count: int = Field(3, ge=1)) -> None: ...

    with pytest.raises(MisuseError, match=r"write `count: Annotated\[…, Field\(…\)\]`"):
        tool(wrong)


def test_pydantic_is_neither_needed_nor_loaded() -> None:
    program = """
import sys
from stepwell import tool
@tool
def find(text: str, limit: int = 3) -> list[str]: ...
assert not any(name.partition(".")[0] in ("pydantic", "IPython", "httpx", "pytest", "hypothesis") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
