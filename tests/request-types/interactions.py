"""Reads the mock model's interactions in the background by Google's own package: `python interactions.py MOCK_LLM`, the program.

What the package reads is the check that the mock is like the provider: the events, the interaction as it is, the refusals.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.genai import Client, types

TEXT = "Otters sleep in space. "
CALL = {"name": "count_otters", "arguments": {"planet": "Mars"}}
STEPS: list[Any] = [{"reasoning": "How many?"}, {"text": TEXT}, {"tool_call": CALL}]
TOOL = {"type": "function", "name": "count_otters", "parameters": {"type": "object", "properties": {}}}


@contextmanager
def mock(program: str, *hops: dict[str, Any]) -> Iterator[Any]:
    """The package's interactions, before a mock that plays these hops."""
    playing = subprocess.Popen([program, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert playing.stdin and playing.stdout
    with playing:
        playing.stdin.write(json.dumps({"hops": hops}))
        playing.stdin.flush()
        url = json.loads(playing.stdout.readline())["base_url"].removesuffix("/v1")
        options = types.HttpOptions(base_url=url, api_version="v1beta", retry_options=types.HttpRetryOptions(attempts=1))
        client = Client(api_key="key", http_options=options)
        yield client.interactions
        playing.stdin.close()


def create(interactions: Any, **options: Any) -> Any:
    options = {"background": True, "tools": [TOOL], **options}
    return interactions.create(model="gemini-2.5-flash", input="Write a novel about otters.", **options)


def take(stream: Any, events: list[Any]) -> bool:
    """Takes the events of a body. Returns whether its connection was lost."""
    try:
        for event in stream:
            assert not getattr(event, "is_unknown", False), f"the package does not know {event}"
            events.append(event)
    except Exception as error:  # The package lets the errors of its HTTP library through.
        assert "peer closed connection" in str(error) or "incomplete" in str(error), error
        return True
    return False


def complete(interaction: Any) -> None:
    assert interaction.status == "requires_action", interaction
    steps = [step for step in interaction.steps if step.type != "user_input"]
    assert [step.type for step in steps] == ["thought", "model_output", "function_call"], steps
    assert steps[1].content[0].text == TEXT
    assert steps[2].arguments == CALL["arguments"]


def read_on(program: str) -> None:
    """A stream that breaks off after any number of events continues where it broke off."""
    for every in range(1, 6):
        with mock(program, {"steps": STEPS, "drop_every": every}) as interactions:
            events: list[Any] = []
            is_lost = take(create(interactions, stream=True), events)
            answer = events[0].interaction.id
            while is_lost:
                last = events[-1].event_id
                is_lost = take(interactions.get(answer, stream=True, last_event_id=last), events)
            assert len({event.event_id for event in events}) == len(events)
            deltas = [event.delta for event in events if event.event_type == "step.delta"]
            assert "".join(delta.text for delta in deltas if delta.type == "text") == TEXT
            arguments = "".join(delta.arguments for delta in deltas if delta.type == "arguments_delta")
            assert json.loads(arguments) == CALL["arguments"]
            assert events[-1].event_type == "interaction.completed"
            complete(interactions.get(answer))


def poll(program: str) -> None:
    """An interaction that is no longer streamed is asked for until it is there."""
    with mock(program, {"steps": STEPS, "drop_every": 4, "streams": 1, "reads": 1}) as interactions:
        events: list[Any] = []
        assert take(create(interactions, stream=True), events)
        answer = events[0].interaction.id
        refused(lambda: interactions.get(answer, stream=True, last_event_id=events[-1].event_id), "no longer streamed")
        assert interactions.get(answer).status == "in_progress"
        complete(interactions.get(answer))


def cancel(program: str) -> None:
    """An interaction that is cancelled ends; one that has ended is not cancelled."""
    with mock(program, {"steps": [*STEPS, "stall"]}, {"steps": STEPS}) as interactions:
        answer = next(iter(create(interactions, stream=True))).interaction.id
        for _ in range(2):
            assert interactions.cancel(answer).status == "cancelled"
        assert interactions.get(answer).status == "cancelled"
        done = create(interactions)
        refused(lambda: interactions.cancel(done.id), "cannot be cancelled")


def refusals(program: str) -> None:
    """What the provider refuses is refused, in the form of its errors."""
    with mock(program, {"steps": STEPS}) as interactions:
        refused(lambda: create(interactions, store=False), "/store")
        refused(lambda: interactions.get("v1_none"), "not found")
        refused(lambda: interactions.cancel("v1_none"), "not found")


def refused(ask: Any, text: str) -> None:
    try:
        ask()
    except Exception as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"this was taken, and not refused: {text}")


for check in (read_on, poll, cancel, refusals):
    check(sys.argv[1])
    print(f"{check.__name__}: Google's package reads the mock as its provider")
