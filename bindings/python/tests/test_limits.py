"""How far a turn may go."""

from __future__ import annotations

import pytest
from machines import STOP, answers, asks, at, config, delta, order, sent, updates

from stepwell import Agent, Limits, MisuseError, tool
from stepwell.machine import Completed, LongContextPrice, ModelPrice, RepeatLimit, RunConfig, RunMachine, RunTool
from stepwell.providers import model_price
from stepwell.updates import (
    Event,
    Failed,
    LimitFailure,
    LimitReached,
    MaxCost,
    MaxDuration,
    MaxTokens,
    MaxToolCalls,
    MaxToolRounds,
    NoProgress,
    Success,
    ToolFailure,
    ToolFailureKind,
    TurnLimit,
)

USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":60,"completion_tokens":40,"total_tokens":100}}\n\n'


PRICE = ModelPrice(input=0.5, output=2, cached_input=0.05)
"""For 60 tokens in and 40 out it is 110 millionths of a dollar."""


def greedy(limits: Limits, *, repeats: bool = False, seconds: int = 0) -> tuple[RunMachine, list[Event], int]:
    """A model that never has enough tea, and may ask for the same again: its machine, the events, how many tools ran."""
    machine = RunMachine(config("http://localhost/v1", order, limits=limits, price=PRICE))
    events: list[Event] = []
    ran = 0
    now = 1000
    outputs = machine.start("Hi", now=at(now))
    for hop in range(12):
        kinds = ("tea",) if repeats else (f"green tea {hop}", f"black tea {hop}")
        calls = [(f"{hop}-{kind}", "order", {"what": kind}) for kind in kinds]
        body = asks(*calls).replace(b"data: [DONE]", USAGE + b"data: [DONE]")
        if "tools" not in sent(outputs):
            body = delta("To sum up: tea.") + STOP
        outputs = answers(machine, outputs, body, now)
        events += outputs.events
        for effect in outputs.effects:
            if isinstance(effect, RunTool):
                ran += 1
                now += seconds * 1000
                outputs = machine.tool_finished(effect.id, "ordered", now=at(now))
                events += outputs.events
        if machine.outcome is not None:
            break
    return machine, events, ran


@pytest.mark.parametrize(
    ("limits", "seconds", "limit", "ran"),
    [
        (Limits(max_tool_rounds=1), 0, MaxToolRounds(1), 2),
        (Limits(max_tool_calls=5), 0, MaxToolCalls(5), 4),
        (Limits(max_tokens=250), 0, MaxTokens(250), 4),
        (Limits(max_cost=0.00025), 0, MaxCost(0.00025), 4),
        (Limits(max_duration=30.0), 10, MaxDuration(30.0), 4),
    ],
)
def test_a_limit_ends_the_turn_and_is_named(limits: Limits, seconds: int, limit: TurnLimit, ran: int) -> None:
    machine, events, count = greedy(limits, seconds=seconds)
    assert isinstance(machine.outcome, LimitReached)
    assert machine.outcome.limit == limit
    assert machine.outcome.message.startswith("the turn ")
    assert events[-1] == Completed(machine.outcome)
    assert count == ran
    kinds = {event.result.kind for event in events if isinstance(getattr(event, "result", None), ToolFailure)}  # type: ignore[attr-defined]
    assert kinds == {ToolFailureKind.LIMIT_REACHED}


def test_at_a_limit_the_turn_may_fail() -> None:
    machine, _, _ = greedy(Limits(max_tool_calls=1, at_limit="fail"))
    assert isinstance(machine.outcome, Failed)
    assert machine.outcome.failure == LimitFailure(MaxToolCalls(1))
    assert "limit of tool calls, 1" in machine.outcome.message


def test_at_a_limit_the_model_may_sum_up() -> None:
    machine, _, _ = greedy(Limits(max_tool_rounds=2, at_limit="sum_up"))
    assert (machine.outcome, machine.text, machine.hop) == (Success(), "To sum up: tea.", 3)


def test_a_model_that_makes_no_progress_is_told_and_then_stopped() -> None:
    machine, events, ran = greedy(Limits(), repeats=True)
    assert isinstance(machine.outcome, LimitReached)
    assert machine.outcome.limit == NoProgress("order", 6)
    assert ran == 3
    told = updates(events, "3-tea")[-1].result
    assert isinstance(told, ToolFailure)
    assert told.kind is ToolFailureKind.REPEATED


def test_the_numbers_are_the_apps() -> None:
    machine, _, ran = greedy(Limits(repeats=RepeatLimit(tell_after=None, stop_after=2)), repeats=True)
    assert isinstance(machine.outcome, LimitReached)
    assert (machine.outcome.limit, ran) == (NoProgress("order", 3), 2)
    machine, _, ran = greedy(Limits(repeats=RepeatLimit(tell_after=None, stop_after=None)), repeats=True)
    assert isinstance(machine.outcome, LimitReached)
    assert (machine.outcome.limit, ran) == (MaxToolRounds(10), 10)


def test_a_repeatable_tool_is_no_circle() -> None:
    @tool(repeatable=True)
    def look() -> str:
        """Looks how far it has come."""
        return "not yet"

    machine = RunMachine(RunConfig(provider="openai-compatible", model="m", base_url="http://localhost/v1", tools=[look]))
    outputs = machine.start("Hi")
    for hop in range(8):
        outputs = answers(machine, outputs, asks((f"c{hop}", "look", {})))
        (running,) = outputs.effects
        outputs = machine.tool_finished(running.id, "not yet")
    answers(machine, outputs, delta("I give up.") + STOP)
    assert machine.outcome == Success()


def test_what_a_turn_costs_is_counted_over_its_hops() -> None:
    machine, _, _ = greedy(Limits(max_tool_rounds=2))
    assert machine.usage.cost == 0.00033


def test_a_limit_of_cost_needs_a_price() -> None:
    with pytest.raises(MisuseError, match="no price is known for the model `mock`"):
        RunMachine(config(limits=Limits(max_cost=1)))
    with pytest.raises(MisuseError, match="`Limits.max_cost` is -1"):
        RunMachine(config(limits=Limits(max_cost=-1), price=PRICE))
    with pytest.raises(MisuseError, match="no price is known"):
        Agent("ollama:llama3.3", limits=Limits(max_cost=1)).run_sync("Hi")
    Agent("ollama:llama3.3", price=ModelPrice(input=0, output=0), limits=Limits(max_cost=1))


def test_list_prices_are_shown() -> None:
    assert model_price("openai", "gpt-4o-mini-2024-07-18") == ModelPrice(input=0.15, output=0.6, cached_input=0.075)
    assert model_price("openai", "none") is None
    long = model_price("gemini", "gemini-2.5-pro")
    assert long is not None
    assert long.long_context == LongContextPrice(above=200_000, input=2.5, output=15.0, cached_input=0.25)
