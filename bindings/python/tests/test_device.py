"""The user types during the turn, the app goes away, the device changes under it."""

from __future__ import annotations

import pytest
from machines import STOP, answers, asked, at, config, contents, delta, opened, order, sent

from stepwell import MisuseError
from stepwell.machine import (
    Completed,
    AgUiOptions,
    CancelTool,
    CloseStream,
    DevicePolicy,
    NetworkTimer,
    OpenStream,
    RetryTimer,
    RunConfig,
    RunMachine,
    SilenceTimer,
    StateKind,
    Timeouts,
    TurnTimer,
)
from stepwell.updates import (
    Cancelled,
    ConnectionFailure,
    Failed,
    SteeringRefusal,
    SteeringRefused,
    SteeringTaken,
    StreamResumed,
    Success,
    UnknownToolCall,
    WaitingForNetwork,
)

TEA = ("c1", "order", {"what": "tea"})


def test_what_the_user_types_goes_into_the_next_request() -> None:
    machine, outputs = asked(config("http://localhost/v1", order), TEA)
    (running,) = outputs.effects
    assert machine.steer("With milk, please", message_id="m1").events == []
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/cup.png"}}
    machine.steer(message={"id": "m2", "role": "user", "content": [image]})
    outputs = machine.tool_finished(running.id, "ordered tea")
    taken = [event for event in outputs.events if isinstance(event, SteeringTaken)]
    assert taken == [SteeringTaken("m1", 1), SteeringTaken("m2", 1)]
    assert [message["role"] for message in sent(outputs)["messages"]] == ["user", "assistant", "tool", "user", "user"]
    assert ("user", "With milk, please") in contents(machine)
    with pytest.raises(MisuseError):
        machine.steer()
    with pytest.raises(MisuseError):
        machine.steer("Hi", message={})


def test_what_cannot_be_taken_is_given_back_whole() -> None:
    machine = RunMachine(config())
    effect = opened(machine)
    machine.steer("Stop", message_id="m1")
    outputs = machine.steer("Stop!", message_id="m1")
    (refused,) = outputs.events
    assert isinstance(refused, SteeringRefused)
    assert refused.reason is SteeringRefusal.DUPLICATE_ID
    assert refused.message == {"id": "m1", "role": "user", "content": "Stop!"}
    assert "an id of its own" in refused.explanation
    (refused,) = machine.steer(message={"id": "m2", "role": "assistant", "content": "Hi"}).events
    assert isinstance(refused, SteeringRefused)
    assert refused.reason is SteeringRefusal.NOT_FROM_USER
    (refused,) = [event for event in machine.cancel().events if isinstance(event, SteeringRefused)]
    assert (refused.message["id"], refused.reason) == ("m1", SteeringRefusal.TURN_OVER)
    (refused,) = machine.steer("Too late").events
    assert isinstance(refused, SteeringRefused)
    assert refused.reason is SteeringRefusal.TURN_OVER
    assert machine.receive(effect, delta("late")).effects == []


def test_an_app_that_goes_away_stops_what_it_began_and_another_goes_on() -> None:
    setup = config("http://localhost/v1", order)
    machine, outputs = asked(setup, TEA)
    (running,) = outputs.effects
    machine.steer("Faster", message_id="m1")
    outputs = machine.dispose()
    assert outputs.effects == [CancelTool(running.id)]
    (refused,) = outputs.events
    assert isinstance(refused, SteeringRefused)
    assert refused.reason is SteeringRefusal.DISPOSED
    assert (machine.is_disposed, machine.outcome, outputs.wake_at) == (True, None, None)
    with pytest.raises(MisuseError, match="ToolFinished after the run was disposed of") as caught:
        machine.tool_finished(running.id, "ordered tea")
    assert "revive" in caught.value.advice
    assert machine.dispose().effects == []

    other = RunMachine.revive(machine.snapshot(), setup)
    assert not other.is_disposed
    answers(other, other.poll_outputs(), delta("Was it ordered?") + STOP)
    assert other.outcome == Success()


def test_in_the_background_the_clocks_stand_still() -> None:
    machine = RunMachine(config(timeouts=Timeouts(silence=20.0)))
    opened(machine)
    assert (machine.poll_timeout(), machine.timeout_reason) == (at(21_000), SilenceTimer())
    assert machine.entered_background(now=at(5000)).wake_at is None
    assert machine.timeout(now=at(90_000)).events == []
    assert machine.entered_foreground(now=at(100_000)).wake_at == at(116_000)


def test_the_policy_may_be_to_cancel_in_the_background_or_to_go_on() -> None:
    machine = RunMachine(config(device=DevicePolicy(background="cancel")))
    effect = opened(machine)
    outputs = machine.entered_background()
    assert (outputs.effects, outputs.events[-1]) == ([CloseStream(effect)], Completed(Cancelled()))

    machine = RunMachine(config(device=DevicePolicy(background="continue"), timeouts=Timeouts(silence=None, turn=60.0)))
    opened(machine)
    assert machine.entered_background(now=at(5000)).wake_at == at(61_000)
    assert machine.timeout_reason == TurnTimer()


def test_a_request_waits_for_the_network_and_that_is_no_try() -> None:
    machine = RunMachine(config(device=DevicePolicy(offline=60.0)))
    (request,) = machine.start("Hi", now=at(1000)).effects
    machine.network_lost(now=at(1500))
    outputs = machine.connection_failed(request.id, "no route to host", now=at(2000))
    assert WaitingForNetwork(60.0) in outputs.events
    assert (machine.state, machine.timeout_reason, outputs.wake_at) == (StateKind.WAITING, NetworkTimer(), at(62_000))
    (again,) = machine.network_available(now=at(9000)).effects
    assert isinstance(again, OpenStream)
    machine.opened(again.id, now=at(9000))
    machine.receive(again.id, delta("Hello") + STOP, now=at(9000))
    machine.ended(again.id, now=at(9000))
    assert machine.outcome == Success()


def test_without_a_network_a_run_may_fail_at_once_or_after_its_wait() -> None:
    machine = RunMachine(config(device=DevicePolicy(offline=None)))
    (request,) = machine.start("Hi", now=at(1000)).effects
    machine.network_lost(now=at(1500))
    machine.connection_failed(request.id, "no route to host", now=at(2000))
    assert isinstance(machine.outcome, Failed)
    assert machine.outcome.failure == ConnectionFailure("no route to host")

    machine = RunMachine(config())
    machine.network_lost(now=at(500))
    outputs = machine.start("Hi", now=at(1000))
    assert (outputs.effects, outputs.wake_at) == ([], at(301_000))
    machine.timeout(now=at(301_000))
    assert isinstance(machine.outcome, Failed)


def test_on_another_network_a_request_may_be_sent_again() -> None:
    machine = RunMachine(config(device=DevicePolicy(network_change="reopen")))
    (request,) = machine.start("Hi").effects
    close, again = machine.network_available().effects
    assert close == CloseStream(request.id)
    assert isinstance(again, OpenStream)
    assert again.id == "open:0:1"

    machine = RunMachine(config())
    machine.start("Hi")
    assert machine.network_available().effects == []


def test_a_turn_may_end_with_its_app() -> None:
    setup = config(device=DevicePolicy(killed="cancel"))
    machine = RunMachine(setup)
    opened(machine)
    revived = RunMachine.revive(machine.snapshot(), setup)
    assert revived.poll_outputs().events[-1] == Completed(Cancelled())


@pytest.mark.parametrize("resumes", [True, False])
def test_a_stream_that_breaks_off_is_resumed_where_the_server_can(resumes: bool) -> None:
    machine = RunMachine(config(resumption="last_event_id" if resumes else "never"))
    effect = opened(machine)
    machine.receive(effect, b"id: 7\n" + delta("Hel"), now=at(1000))
    outputs = machine.lost(effect, "reset", now=at(2000))
    if not resumes:
        assert isinstance(machine.outcome, Failed)
        return
    assert machine.timeout_reason == RetryTimer()
    assert outputs.wake_at is not None
    (again,) = machine.timeout(now=outputs.wake_at).effects
    assert isinstance(again, OpenStream)
    assert ("last-event-id", "7") in again.request.headers
    outputs = machine.opened(again.id, "text/event-stream", now=at(9000))
    assert StreamResumed(0, 1) in outputs.events
    machine.receive(again.id, b"id: 8\n" + delta("lo") + STOP, now=at(9000))
    machine.ended(again.id, now=at(9000))
    assert (machine.outcome, machine.text) == (Success(), "Hello")


def test_arguments_for_a_call_that_never_began() -> None:
    lenient = AgUiOptions(verification="lenient")
    machine = RunMachine(RunConfig(provider="ag-ui", base_url="http://localhost/agent", ag_ui=lenient))
    (request,) = machine.start("Hi", run_id="run").effects
    machine.opened(request.id, "text/event-stream")
    started = b'data: {"type":"RUN_STARTED","threadId":"thread","runId":"run"}\n\n'
    stray = b'data: {"type":"TOOL_CALL_ARGS","toolCallId":"nobody","delta":"{}"}\n\n'
    finished = b'data: {"type":"RUN_FINISHED","threadId":"thread","runId":"run"}\n\n'
    events = machine.receive(request.id, started + stray + finished).events
    assert UnknownToolCall("nobody") in events
    machine.ended(request.id)
    assert machine.outcome == Success()
