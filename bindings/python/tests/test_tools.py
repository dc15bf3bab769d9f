"""Tools from functions: their schemas, and the values that their functions get."""

from __future__ import annotations

import enum
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from stepwell import Agent, MisuseError, Model, Tool, ToolContext, tool
from stepwell.docstrings import parse


class Unit(enum.Enum):
    """A unit of temperature."""

    CELSIUS = "C"
    FAHRENHEIT = "F"


@dataclass
class Place:
    """Where something is."""

    city: str
    country: str = "NO"
    height: float | None = field(default=None, metadata={"description": "Metres above the sea."})
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    name: str
    children: list["Node"] = field(default_factory=list)


class Options(TypedDict, total=False):
    depth: int


class Query(Options):
    text: str


def properties(function: Callable[..., Any]) -> Any:
    return tool(function).parameters["properties"]


def test_plain_types() -> None:
    @tool
    def plain(a: str, b: int, c: float, d: bool, e: list[int], f: dict[str, float], g: list[Any], h: None) -> None: ...

    assert plain.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "number"},
            "d": {"type": "boolean"},
            "e": {"type": "array", "items": {"type": "integer"}},
            "f": {"type": "object", "additionalProperties": {"type": "number"}},
            "g": {"type": "array", "items": {}},
            "h": {"type": "null"},
        },
        "additionalProperties": False,
        "required": ["a", "b", "c", "d", "e", "f", "g", "h"],
    }


def test_no_arguments() -> None:
    @tool
    def now() -> str:
        """The time."""
        return ""

    assert now.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_defaults_are_not_required() -> None:
    @tool
    def find(text: str, limit: int = 10, unit: Unit = Unit.CELSIUS, after: str | None = None) -> None: ...

    assert find.parameters["required"] == ["text"]
    assert find.parameters["properties"]["limit"] == {"type": "integer", "default": 10}
    assert find.parameters["properties"]["unit"]["default"] == "C"
    assert find.parameters["properties"]["after"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}


def test_choices() -> None:
    def choose(a: Literal["x", "y"], b: Unit, c: Literal[1, "one"], d: Optional[int], e: Union[int, str]) -> None: ...

    assert properties(choose) == {
        "a": {"type": "string", "enum": ["x", "y"]},
        "b": {"type": "string", "enum": ["C", "F"], "description": "A unit of temperature."},
        "c": {"enum": [1, "one"]},
        "d": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "e": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    }


def test_dataclasses_and_typed_dicts() -> None:
    def go(to: Place, query: Query) -> None: ...

    assert properties(go) == {
        "to": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "country": {"type": "string", "default": "NO"},
                "height": {
                    "anyOf": [{"type": "number"}, {"type": "null"}],
                    "description": "Metres above the sea.",
                    "default": None,
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": False,
            "required": ["city"],
            "description": "Where something is.",
        },
        "query": {
            "type": "object",
            "properties": {"depth": {"type": "integer"}, "text": {"type": "string"}},
            "additionalProperties": False,
            "required": ["text"],
        },
    }


def test_types_that_hold_themselves() -> None:
    @tool
    def plant(root: Node) -> str:
        return root.children[0].children[0].name

    assert plant.parameters["properties"]["root"] == {"$ref": "#/$defs/Node"}
    children = plant.parameters["$defs"]["Node"]["properties"]["children"]
    assert children == {"type": "array", "items": {"$ref": "#/$defs/Node"}}


def test_collections() -> None:
    def collect(a: Sequence[int], b: set[str], c: tuple[int, str], d: tuple[int, ...], e: Mapping[str, int]) -> None: ...

    assert properties(collect) == {
        "a": {"type": "array", "items": {"type": "integer"}},
        "b": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "c": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "d": {"type": "array", "items": {"type": "integer"}},
        "e": {"type": "object", "additionalProperties": {"type": "integer"}},
    }


@pytest.mark.parametrize(
    "doc",
    [
        """Finds things.

        Everywhere.

        Args:
            text: What to look for,
                in any language.
            limit (int): How many.

        Returns:
            text: the best.
        """,
        """Finds things.

        Everywhere.

        :param text: What to look for,
            in any language.
        :param int limit: How many.
        :returns: the best
        """,
        """Finds things.

        Everywhere.

        Parameters
        ----------
        text : str
            What to look for,
            in any language.
        limit
            How many.

        Returns
        -------
        text
            The best.
        """,
    ],
)
def test_docstrings(doc: str) -> None:
    said = parse(doc)
    assert said.description == "Finds things.\n\nEverywhere."
    assert said.arguments == {"text": "What to look for, in any language.", "limit": "How many."}


def test_descriptions_reach_the_schema() -> None:
    @tool
    def find(text: str, limit: Annotated[int, "How many."] = 3) -> None:
        """Finds things.

        Args:
            text: What to look for.
        """

    assert (find.name, find.description) == ("find", "Finds things.")
    assert find.parameters["properties"]["text"]["description"] == "What to look for."
    assert find.parameters["properties"]["limit"]["description"] == "How many."


def test_settings_win() -> None:
    @tool(name="other", description="Told otherwise.", parameters={"type": "object"}, idempotent=True, timeout=1.5)
    def find(text: str) -> None:
        """Finds things."""

    assert (find.name, find.description, find.parameters) == ("other", "Told otherwise.", {"type": "object"})
    assert (find.idempotent, find.requires_approval, find.timeout) == (True, False, 1.5)


def test_a_tool_is_still_its_function() -> None:
    @tool
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert double(4) == 8
    assert double.__doc__ == "Twice."
    assert repr(double) == "Tool('double')"


async def test_functions_get_what_their_hints_say() -> None:
    got: dict[str, Any] = {}

    @tool
    def take(
        place: Place, unit: Unit, ratio: float, count: int, tags: set[str], query: Query, one: int | Place
    ) -> None:
        got.update(locals())

    await take.run(
        {
            "place": {"city": "Bergen", "height": 12},
            "unit": "F",
            "ratio": 2,
            "count": 3.0,
            "tags": ["a", "b"],
            "query": {"text": "x"},
            "one": {"city": "Oslo"},
        }
    )
    assert got["place"] == Place("Bergen", height=12.0)
    assert got["unit"] is Unit.FAHRENHEIT
    assert isinstance(got["ratio"], float) and isinstance(got["count"], int)
    assert got["tags"] == {"a", "b"}
    assert got["query"] == {"text": "x"}
    assert got["one"] == Place("Oslo")


async def test_types_that_hold_themselves_are_built() -> None:
    @tool
    def deepest(root: Node) -> str:
        return root.children[0].children[0].name

    tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}
    assert await deepest.run({"root": tree}) == "c"


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("text", "text"),
        (42, "42"),
        (None, "null"),
        (Place("Ås"), '{"city": "Ås", "country": "NO", "height": null, "tags": []}'),
        ([Unit.CELSIUS, {"a": (1, 2)}], '["C", {"a": [1, 2]}]'),
    ],
)
async def test_results_become_text(result: Any, shown: str) -> None:
    @tool
    def give() -> Any:
        return result

    assert await give.run({}) == shown


async def test_plain_functions_run_in_a_thread_and_async_ones_do_not() -> None:
    @tool
    def plain() -> int:
        return threading.get_ident()

    @tool
    async def asynchronous() -> int:
        return threading.get_ident()

    here = str(threading.get_ident())
    assert await plain.run({}) != here
    assert await asynchronous.run({}) == here


async def test_methods_can_be_tools() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def add(self, n: int) -> int:
            """Adds."""
            self.count += n
            return self.count

    counter = Counter()
    add = Tool(counter.add)
    assert (add.name, list(add.parameters["properties"])) == ("add", ["n"])
    assert await add.run({"n": 3}) == "3"
    assert counter.count == 3


def test_all_schemas_are_taken_by_the_core() -> None:
    def every(a: Place, b: Node, c: Query, d: tuple[int, str], e: Unit, f: Literal[1, "one"] = 1) -> None: ...

    agent = Agent(Model.openai_compatible("m", base_url="http://localhost"), tools=[every])
    assert json.dumps(agent.tools[0].parameters)


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


async def test_a_tool_with_a_schema_takes_whatever_it_says() -> None:
    """As tools of OpenAPI and MCP, which are made at run time."""
    given: list[object] = []

    async def call(*args: object, **arguments: object) -> str:
        given.append((args, arguments))
        return "called"

    def plain(city: str, context: ToolContext[int], **others: object) -> str:
        given.append((city, context.deps, others))
        return "called"

    made = Tool(call, name="forecast", description="Forecasts.", parameters=SCHEMA)
    assert made.parameters == SCHEMA
    assert await made.run({"city": "Bergen", "days": 3}) == "called"
    assert given.pop() == ((), {"city": "Bergen", "days": 3})
    decorated = tool(name="forecast", parameters=SCHEMA)(plain)
    assert await decorated.run({"city": "Bergen", "days": 3}, ToolContext(7)) == "called"
    assert given.pop() == ("Bergen", 7, {"days": 3})


def test_without_a_schema_there_must_be_names() -> None:
    def call(**arguments: object) -> str:
        return "called"

    with pytest.raises(MisuseError, match="cannot be given by name.*parameters"):
        Tool(call)
