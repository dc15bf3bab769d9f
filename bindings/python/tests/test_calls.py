"""What may become of a tool call: cancelled, deferred, allowed with other arguments."""

from __future__ import annotations

import pytest
from machines import STOP, answers, asked, at, config, contents, delta, order, sent, updates

from stepwell import MisuseError, ToolOutput, tool
from stepwell.machine import (
    ApprovalTimer,
    AskApproval,
    CancelTool,
    Persist,
    RunMachine,
    RunTool,
    StateKind,
    Timeouts,
    ToolTimer,
    TurnStatus,
)
from stepwell.updates import AnswerDropped, CallKey, Success, ToolCallStatus, ToolFailure, ToolFailureKind

SETUP = config("http://localhost/v1", order)
TEA = ("c1", "order", {"what": "tea"})
CAKE = ("c2", "order", {"what": "cake"})


def test_one_call_of_a_batch_is_cancelled_and_the_other_goes_on() -> None:
    machine, outputs = asked(SETUP, TEA, CAKE)
    tea, cake = [effect for effect in outputs.effects if isinstance(effect, RunTool)]
    assert (tea.invocation.call, cake.invocation.call) == (CallKey(0, 0), CallKey(0, 1))

    outputs = machine.cancel_call(cake.invocation.call)
    assert outputs.effects == [CancelTool(cake.id)]
    (update,) = updates(outputs.events, "c2")
    assert update.status is ToolCallStatus.CANCELLED
    assert isinstance(update.result, ToolFailure)
    assert update.result.kind is ToolFailureKind.CANCELLED
    assert machine.state is StateKind.EXECUTING_TOOLS
    assert AnswerDropped(cake.id) in machine.tool_finished(cake.id, "ordered cake").events

    outputs = machine.tool_finished(tea.id, "ordered tea")
    told = [message["content"] for message in sent(outputs)["messages"] if message["role"] == "tool"]
    assert told == ["ordered tea", f'{{"error":"{update.result.message}"}}']
    answers(machine, outputs, delta("Tea only.") + STOP)
    assert (machine.outcome, machine.text) == (Success(), "Tea only.")


def test_a_call_that_is_not_there_cannot_be_cancelled_and_that_is_no_mistake() -> None:
    machine, _ = asked(SETUP, TEA)
    assert machine.cancel_call(CallKey(7, 7)).effects == []
    assert machine.state is StateKind.EXECUTING_TOOLS


def test_a_deferred_result_wakes_the_run_in_another_process() -> None:
    for restore in (True, False):
        machine, outputs = asked(SETUP, TEA)
        (running,) = outputs.effects
        assert (machine.is_resting, machine.timeout_reason) == (False, ToolTimer(CallKey(0, 0)))
        outputs = machine.tool_deferred(running.id, now=at(2000))
        assert [update.status for update in updates(outputs.events, "c1")] == [ToolCallStatus.DEFERRED]
        assert (outputs.effects, outputs.wake_at, machine.timeout_reason) == ([], None, None)
        assert machine.is_resting
        snapshot = machine.snapshot()
        del machine

        days = 3 * 24 * 3_600_000
        other = (
            RunMachine.restore(snapshot, SETUP) if restore else RunMachine.revive(snapshot, SETUP, now=at(days))
        )
        assert other.poll_outputs().effects == []
        assert (other.is_resting, other.awaited_result("c2")) == (True, None)
        effect = other.awaited_result("c1")
        assert effect == running.id
        outputs = other.tool_finished(effect, "the tea is here", now=at(days))
        assert [update.result for update in updates(outputs.events, "c1")] == [ToolOutput("the tea is here")]
        assert (other.is_resting, other.awaited_result("c1")) == (False, None)
        answers(other, outputs, delta("Enjoy!") + STOP, days)
        assert (other.outcome, other.text) == (Success(), "Enjoy!")
        assert AnswerDropped(effect) in other.tool_finished(effect, "again").events


def test_a_deferred_call_and_its_failure_are_stored() -> None:
    setup = config("http://localhost/v1", order, persist_attempts=1)
    machine, outputs = asked(setup, TEA)
    blocks = []

    def stored(effects: list[object]) -> list[object]:
        """Stores what is to be stored; the rest."""
        rest = []
        while effects:
            effect = effects.pop(0)
            if isinstance(effect, Persist):
                assert effect.status is not TurnStatus.FAILED
                blocks.extend(effect.blocks)
                effects += machine.persisted(effect.id).effects
            else:
                rest.append(effect)
        return rest

    (running,) = stored(list(outputs.effects))
    assert isinstance(running, RunTool)
    assert stored(list(machine.tool_deferred(running.id).effects)) == []
    after = stored(list(machine.tool_failed(running.id, "out of tea").effects))
    assert len(after) == 1
    assert [block.content["type"] for block in blocks] == ["tool_use", "deferred", "tool_result"]
    assert contents(machine)[-1] == ("tool", blocks[-1].content["content"])


def test_a_deferred_result_may_come_too_late() -> None:
    machine, outputs = asked(config("http://localhost/v1", order, timeouts=Timeouts(deferred=3600.0)), TEA)
    (running,) = outputs.effects
    outputs = machine.tool_deferred(running.id, now=at(2000))
    assert outputs.wake_at == at(3_602_000)
    outputs = machine.timeout(now=at(3_602_000))
    (update,) = updates(outputs.events, "c1")
    assert isinstance(update.result, ToolFailure)
    assert update.result.kind is ToolFailureKind.TIMED_OUT


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


PAYING = config("http://localhost/v1", pay, timeouts=Timeouts(approval=600.0))


def test_the_user_allows_a_call_with_other_arguments() -> None:
    machine, outputs = asked(PAYING, ("c1", "pay", {"amount": 100}))
    (ask,) = outputs.effects
    assert isinstance(ask, AskApproval)
    assert (machine.is_resting, machine.timeout_reason) == (True, ApprovalTimer(CallKey(0, 0)))
    for wrong in ({"amount": "much"}, {}):
        with pytest.raises(MisuseError, match="the edited arguments do not fit") as caught:
            machine.approve(ask.id, wrong)
        assert "ask again" in caught.value.advice

    (running,) = machine.approve(ask.id, {"amount": 5}, now=at(2000)).effects
    assert isinstance(running, RunTool)
    assert running.invocation.arguments == {"amount": 5}
    outputs = machine.tool_finished(running.id, "paid 5", now=at(2000))
    (told,) = [message["content"] for message in sent(outputs)["messages"] if message["role"] == "tool"]
    assert 'changed the arguments of this call to {"amount":5}' in told
    assert told.endswith("paid 5")
    (call,) = [call for message in machine.messages for call in message.get("toolCalls", [])]
    assert call["function"]["arguments"] == '{"amount": 100}'


def test_a_user_who_does_not_answer() -> None:
    machine, outputs = asked(PAYING, ("c1", "pay", {"amount": 100}))
    (ask,) = outputs.effects
    assert outputs.wake_at == at(601_000)
    outputs = machine.timeout(now=at(601_000))
    assert CancelTool(ask.id) in outputs.effects
    (update,) = updates(outputs.events, "c1")
    assert isinstance(update.result, ToolFailure)
    assert update.result.kind is ToolFailureKind.TIMED_OUT
