"""Answers that are of a type of the app's own."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, Union

import pytest
from conftest import MockLlm, text
from pydantic import BaseModel, Field, field_validator

from stepwell import Agent, MisuseError, OutputInvalidError
from stepwell.machine import OutputType
from stepwell.updates import OutputUpdate

Start = Callable[..., MockLlm]


@dataclass
class Trip:
    """A journey."""

    city: str
    days: Annotated[int, "At least one."]

    def __post_init__(self) -> None:
        if self.days < 1:
            raise ValueError(f"{self.days} days are no trip")


class Stay(BaseModel):
    hotel: str
    nights: int = Field(ge=1)

    @field_validator("hotel")
    @classmethod
    def is_known(cls, hotel: str) -> str:
        if hotel == "Nowhere":
            raise ValueError("nobody knows that hotel")
        return hotel


class Refused(TypedDict):
    kind: Literal["refused"]
    why: str


def agent(mock: MockLlm, **options: Any) -> Agent[Any, Any]:
    return Agent(mock.model, **options)


BERGEN = '{"city":"Bergen","days":3}'


def told(mock: MockLlm, request: int) -> str:
    return json.dumps(mock.requests()[request]["body"]["messages"][-1])


@pytest.mark.parametrize(
    ("hint", "answer", "value"),
    [
        (Trip, BERGEN, Trip("Bergen", 3)),
        (Stay, '{"hotel":"Grand","nights":2}', Stay(hotel="Grand", nights=2)),
        (Refused, '{"kind":"refused","why":"no time"}', {"kind": "refused", "why": "no time"}),
        (list[Trip], f"[{BERGEN}]", [Trip("Bergen", 3)]),
        (Union[Trip, Stay], '{"hotel":"Grand","nights":2}', Stay(hotel="Grand", nights=2)),
        (int, "7", 7),
    ],
)
def test_the_answer_is_of_the_type(mock_llm: Start, hint: Any, answer: str, value: object) -> None:
    mock = mock_llm(text(answer))
    assert agent(mock).run_sync("Where to?", output_type=hint).output == value


def test_the_model_is_told_of_the_type(mock_llm: Start) -> None:
    mock = mock_llm(text(BERGEN))
    agent(mock, output_type=Trip).run_sync("Where to?")
    request = json.dumps(mock.requests()[0]["body"])
    assert all(words in request for words in ("Trip", "A journey.", "At least one."))


def test_what_does_not_fit_goes_back_to_the_model(mock_llm: Start) -> None:
    mock = mock_llm(text('{"city":"Bergen"}'), text('{"city":"Bergen","days":0}'), text(BERGEN))
    assert agent(mock, output_type=Trip).run_sync("Where to?").output == Trip("Bergen", 3)
    assert "days" in told(mock, 1)
    assert "0 days are no trip" in told(mock, 2)


def test_a_validator_of_pydantic_is_heard(mock_llm: Start) -> None:
    mock = mock_llm(text('{"hotel":"Nowhere","nights":1}'), text('{"hotel":"Grand","nights":1}'))
    assert agent(mock).run_sync("Where?", output_type=Stay).output.hotel == "Grand"
    assert "nobody knows that hotel" in told(mock, 1)


def test_what_never_fits_is_an_error_with_the_text(mock_llm: Start) -> None:
    mock = mock_llm(text("Bergen"), text("Bergen!"), text("I said: Bergen"))
    with pytest.raises(OutputInvalidError) as failed:
        agent(mock).run_sync("Where to?", output_type=Trip)
    assert failed.value.result is not None
    assert failed.value.result.text.endswith("I said: Bergen")


async def test_the_answer_is_seen_while_it_streams(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": BERGEN[:12]}, {"text": BERGEN[12:]}]})
    turn = agent(mock).stream("Where to?", output_type=Trip)
    seen = [turn.partial_output async for event in turn if isinstance(event, OutputUpdate)]
    assert seen[-1] == {"city": "Bergen", "days": 3}
    assert (await turn.result()).output == Trip("Bergen", 3)


async def test_one_turn_has_a_type_and_the_next_has_none(mock_llm: Start) -> None:
    mock = mock_llm(text(BERGEN), text("You are welcome."))
    one = agent(mock)
    assert (await one.stream("Where to?", output_type=Trip).result()).output == Trip("Bergen", 3)
    thanked = await one.stream("Thank you").result()
    assert thanked.output == thanked.text == "You are welcome."


async def test_one_turn_has_a_schema_of_its_own(mock_llm: Start) -> None:
    mock = mock_llm(text('{"many":3}'), text(BERGEN))
    schema = {"type": "object", "properties": {"many": {"type": "integer"}}, "required": ["many"]}
    many = OutputType(name="Many", schema=schema)
    one = agent(mock, output_type=Trip)
    assert (await one.stream("How many?", output_type=many).result()).output == {"many": 3}
    assert (await one.stream("Where to?").result()).output == Trip("Bergen", 3)
    assert agent(mock_llm(text('{"many":4}')), output_type=many).run_sync("How many?").output == {"many": 4}


class Opaque:
    def __init__(self, inside) -> None:  # type: ignore[no-untyped-def]
        self.inside = inside


def test_a_type_without_a_schema_is_told_at_once(mock_llm: Start) -> None:
    mock = mock_llm(text("never"))
    with pytest.raises(MisuseError, match="output_type"):
        agent(mock, output_type=Opaque)
    with pytest.raises(MisuseError, match="output_type"):
        agent(mock).run_sync("Where to?", output_type=list[Opaque])
    assert mock.requests() == []


TEXT_OR_TRIP: list[Any] = [str | Trip, Union[Trip, str], [Trip, str], (str, Trip)]


@pytest.mark.parametrize("hint", TEXT_OR_TRIP)
def test_plain_text_is_an_answer_where_the_type_includes_it(mock_llm: Start, hint: Any) -> None:
    mock = mock_llm(text("For how many days?"), text(BERGEN))
    one = agent(mock)
    assert one.run_sync("A trip to Bergen", output_type=hint).output == "For how many days?"
    assert one.run_sync("Three", output_type=hint).output == Trip("Bergen", 3)


def test_a_text_or_a_type_with_tools_leaves_the_model_the_choice(mock_llm: Start) -> None:
    def look(city: str) -> str:
        """Looks."""
        return "wet"

    mock = mock_llm(text("For how many days?"))
    assert agent(mock, tools=[look]).run_sync("Bergen", output_type=str | Trip).output == "For how many days?"
    assert mock.requests()[0]["body"].get("tool_choice", "auto") == "auto"


def test_text_is_what_the_model_says_anyway(mock_llm: Start) -> None:
    mock = mock_llm(text("It rains."))
    assert agent(mock, output_type=str).run_sync("Bergen?").output == "It rains."
    body = mock.requests()[0]["body"]
    assert "response_format" not in body and "tools" not in body


def test_text_takes_the_place_of_the_agents_type(mock_llm: Start) -> None:
    mock = mock_llm(text("It rains."), text(BERGEN), text("Well."))
    one = agent(mock, output_type=Trip)
    assert one.run_sync("Bergen?", output_type=str).output == "It rains."
    assert one.run_sync("A trip").output == Trip("Bergen", 3)


def test_text_is_the_last_message(mock_llm: Start) -> None:
    def look(city: str) -> str:
        """Looks."""
        return "wet"

    hop = {"steps": [{"text": "Let me look."}, {"tool_call": {"name": "look", "arguments": {"city": "Bergen"}}}]}
    mock = mock_llm(hop, text("It rains."))
    assert agent(mock, tools=[look]).run_sync("Bergen?", output_type=str).output == "It rains."


def test_the_model_is_told_nothing_of_pythons_own_types(mock_llm: Start) -> None:
    mock = mock_llm(text('"1.5"'))
    assert agent(mock).run_sync("How much?", output_type=decimal.Decimal).output == decimal.Decimal("1.5")
    assert "Construct a new Decimal" not in str(mock.requests()[0]["body"])
