"""The types that a tool's arguments and results may have, with Pydantic and without it."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import functools
import json
import pathlib
import sys
import threading
import typing
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Dict, List, Literal, NamedTuple, NewType, Optional, Set, Tuple, TypedDict, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Agent, MisuseError, Model, StepwellError, Tool, ToolError, tool


class Colour(enum.Enum):
    RED = "red"
    DAY = dt.date(2026, 1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    """Where on the map."""

    x: int
    label: str = ""


@dataclass
class Booking:
    day: dt.date
    price: decimal.Decimal
    point: Point


class Query(TypedDict):
    since: dt.datetime


UserId = NewType("UserId", uuid.UUID)

UUID = "12345678-1234-5678-1234-567812345678"

TYPES: list[tuple[Any, Any, Any, Any]] = [
    # The type, its schema, a value in JSON, and in Python.
    (dt.date, {"type": "string", "format": "date"}, "2026-01-02", dt.date(2026, 1, 2)),
    (
        dt.datetime,
        {"type": "string", "format": "date-time"},
        "2026-01-02T03:04:05+00:00",
        dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
    ),
    (dt.time, {"type": "string", "format": "time"}, "03:04:05", dt.time(3, 4, 5)),
    (dt.timedelta, {"type": "string", "format": "duration"}, "P1DT5400S", dt.timedelta(days=1, minutes=90)),
    (decimal.Decimal, {"anyOf": [{"type": "number"}, {"type": "string"}]}, "1.10", decimal.Decimal("1.10")),
    (uuid.UUID, {"type": "string", "format": "uuid"}, UUID, uuid.UUID(UUID)),
    (UserId, {"type": "string", "format": "uuid"}, UUID, uuid.UUID(UUID)),
    (pathlib.Path, {"type": "string", "format": "path"}, "a/b", pathlib.Path("a/b")),
    (pathlib.PurePosixPath, {"type": "string", "format": "path"}, "a/b", pathlib.PurePosixPath("a/b")),
    (bytes, {"type": "string", "contentEncoding": "base64"}, "AP8=", b"\0\xff"),
    (Colour, {"type": "string", "enum": ["red", "2026-01-02"]}, "2026-01-02", Colour.DAY),
    (Level, {"type": "integer", "enum": [1]}, 1, Level.LOW),
    (Literal[Colour.RED, 3], {"enum": ["red", 3]}, "red", Colour.RED),
    (
        Point,
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "label": {"type": "string", "default": ""}},
            "additionalProperties": False,
            "required": ["x"],
            "description": "Where on the map.",
        },
        {"x": 1, "label": "a"},
        Point(1, "a"),
    ),
    (Optional[dt.date], {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, None, None),
    (Annotated[dt.date, "When."], {"type": "string", "format": "date", "description": "When."}, "2026-01-02", dt.date(2026, 1, 2)),
    (List, {"type": "array"}, [1], [1]),
    (list, {"type": "array"}, [1], [1]),
    (Sequence, {"type": "array"}, [1], [1]),
    (Dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (Tuple, {"type": "array"}, [1], (1,)),
    (Set, {"type": "array", "uniqueItems": True}, [1], {1}),
    (List[dt.date], {"type": "array", "items": {"type": "string", "format": "date"}}, ["2026-01-02"], [dt.date(2026, 1, 2)]),
    (
        Dict[uuid.UUID, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {UUID: 1},
        {uuid.UUID(UUID): 1},
    ),
]


@pytest.fixture(params=["with pydantic", "without pydantic"])
def pydantic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without pydantic":
        monkeypatch.setitem(sys.modules, "pydantic", None)


def taking(hint: Any) -> Tool[..., Any]:
    def take(value: Any) -> Any:
        got.append(value)
        return value

    got: list[Any] = []
    take.__annotations__ = {"value": hint}
    made = tool(take)
    made.got = got  # type: ignore[attr-defined]
    return made


@pytest.mark.usefixtures("pydantic")
@pytest.mark.parametrize(("hint", "schema", "in_json", "value"), TYPES)
async def test_the_standard_librarys_types_go_in_and_out(hint: Any, schema: Any, in_json: Any, value: Any) -> None:
    take = taking(hint)
    assert take.parameters["properties"]["value"] == schema
    shown = await take.run({"value": in_json})
    assert take.got == [value]  # type: ignore[attr-defined]
    assert type(take.got[0]) is type(value)  # type: ignore[attr-defined]
    assert shown == (in_json if isinstance(in_json, str) else json.dumps(in_json))


@pytest.mark.usefixtures("pydantic")
async def test_they_are_read_within_others() -> None:
    got: list[Any] = []

    @tool
    def book(booking: Booking, query: Query, either: Union[dt.date, int]) -> Any:
        got.extend([booking, query, either])
        return [booking, {Colour.RED: (either, {1})}]

    shown = await book.run(
        {
            "booking": {"day": "2026-01-02", "price": 1.5, "point": {"x": 1}},
            "query": {"since": "2026-01-02T03:04:05Z"},
            "either": "2026-01-02",
        }
    )
    day = dt.date(2026, 1, 2)
    assert got == [
        Booking(day, decimal.Decimal("1.5"), Point(1)),
        {"since": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)},
        day,
    ]
    assert shown == (
        '[{"day": "2026-01-02", "price": "1.5", "point": {"x": 1, "label": ""}}, {"red": ["2026-01-02", [1]]}]'
    )


@pytest.mark.usefixtures("pydantic")
@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (dt.date, "soon"),
        (dt.timedelta, "P"),
        (dt.timedelta, "two days"),
        (decimal.Decimal, "much"),
        (uuid.UUID, "me"),
        (bytes, "!"),
        (Colour, "green"),
        (Level, True),
        (Point, {"y": 1}),
        (pathlib.Path, 3),
    ],
)
async def test_what_does_not_fit_is_told_to_the_model(hint: Any, value: Any) -> None:
    with pytest.raises(ToolError, match="the argument `value` does not fit"):
        await taking(hint).run({"value": value})


@given(st.timedeltas())
def test_a_duration_comes_back_as_it_was(span: dt.timedelta) -> None:
    from stepwell import scalars

    found = scalars.of_type(dt.timedelta)
    assert found is not None
    assert found.from_json(found.to_json(span)) == span


async def test_what_else_pydantic_reads_needs_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    take = taking(collections.OrderedDict[str, int])
    await take.run({"value": {"a": 1}})
    assert take.got == [collections.OrderedDict(a=1)]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(MisuseError, match="the argument `value` is of a type that JSON has no form for"):
        taking(collections.OrderedDict[str, int])


async def test_a_result_without_a_form_says_so() -> None:
    @tool
    def give() -> Any:
        return threading.Lock()

    with pytest.raises(TypeError, match="a lock has no form in JSON"):
        await give.run({})


class Shop:
    """A class with tools."""

    def __init__(self, name: str = "shop") -> None:
        self.name = name

    @tool(requires_approval=True)
    def order(self, what: str, amount: int = 1) -> str:
        """Orders something.

        Args:
            what: What to order.
        """
        return f"{self.name}: {amount} {what}"

    @tool
    async def ask(self, what: str) -> str:
        return f"{self.name}: {what}?"

    @classmethod
    @tool
    def chain(cls, what: str) -> str:
        return f"{cls.__name__}: {what}"

    @tool
    @classmethod
    def outer(cls, what: str) -> str:
        return f"{cls.__name__}: {what}"

    @staticmethod
    @tool
    def everywhere(what: str) -> str:
        return what

    @tool
    @staticmethod
    def outer_everywhere(what: str) -> str:
        return what


async def test_methods_are_tools_of_their_object() -> None:
    shop, other = Shop(), Shop("other")
    offered: list[Any] = [shop.order, shop.ask, shop.chain, shop.outer, shop.everywhere, shop.outer_everywhere]
    agent = Agent(Model.openai_compatible("m", base_url="http://localhost"), tools=offered)
    for each in agent.tools:
        assert list(each.parameters["properties"])[0] == "what", each.name
        assert each.parameters["required"] == ["what"]
    order = agent.tools[0]
    assert order.parameters["properties"]["what"]["description"] == "What to order."
    assert (order.name, order.description, order.requires_approval) == ("order", "Orders something.", True)
    said = [await each.run({"what": "tea"}) for each in agent.tools]
    assert said == ["shop: 1 tea", "shop: tea?", "Shop: tea", "Shop: tea", "tea", "tea"]
    assert other.order("milk", amount=2) == "other: 2 milk"
    assert Shop.order(shop, "milk") == "shop: 1 milk"
    methods: Any = Shop
    assert methods.chain("milk") == methods.outer("milk") == "Shop: milk"


def test_a_method_of_no_object_is_refused() -> None:
    with pytest.raises(MisuseError, match=r"`Shop\.order` is a method, and of no object"):
        Agent(Model.openai_compatible("m", base_url="http://localhost"), tools=[Shop.order])


def test_a_tool_that_a_class_has_as_an_attribute_stays_that_tool() -> None:
    @tool
    def look(what: str) -> str:
        return what

    class App:
        tool = look

    assert App.tool is look and App().tool is look
    assert list(look.parameters["properties"]) == ["what"]


async def test_what_can_be_called_can_be_a_tool() -> None:
    class Doubler:
        """Doubles."""

        def __call__(self, n: int) -> int:
            return 2 * n

    def power(base: int, exponent: int) -> int:
        """A power."""
        return int(base**exponent)

    square = Tool(functools.partial(power, exponent=2), name="square")
    assert list(square.parameters["properties"]) == ["base"]
    assert await square.run({"base": 3}) == "9"
    double = Tool(Doubler())
    assert (double.name, await double.run({"n": 4})) == ("Doubler", "8")


async def test_a_default_of_none_may_be_given() -> None:
    @tool
    def find(text: str = None) -> str:  # type: ignore[assignment]
        return str(text)

    assert find.parameters["properties"]["text"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert await find.run({"text": None}) == "None"


def test_what_no_model_can_give_is_named() -> None:
    def stars(*names: str) -> None: ...
    def keywords(**names: str) -> None: ...
    def positional(name: str, /) -> None: ...
    def strange(when: threading.Thread) -> None: ...
    def keys(numbers: dict[int, str]) -> None: ...
    def unknown(where: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    wrong: list[tuple[Any, str]] = [
        (stars, r"\*names"),
        (keywords, r"\*\*names"),
        (positional, "name"),
        (strange, "the argument `when`"),
        (keys, "the argument `numbers`"),
        (unknown, "Nowhere"),
        (3, "`function` of `Tool` is of the type int"),
    ]
    for function, named in wrong:
        with pytest.raises(MisuseError, match=named) as refused:
            tool(function)
        assert isinstance(refused.value, StepwellError)


def test_a_type_that_a_name_stands_for() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("there are no such names before Python 3.12")
    alias = typing.TypeAliasType("alias", List[int])
    assert taking(alias).parameters["properties"]["value"] == {"type": "array", "items": {"type": "integer"}}

