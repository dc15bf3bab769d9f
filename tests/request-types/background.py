"""Reads the mock model's answers in the background by OpenAI's own package: `python background.py MOCK_LLM`, the program.

What the package takes, with its strict validation, is the check that the mock is like the provider: the events, the answer as it
is, the refusals.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
from openai import OpenAI
from openai.types.responses import Response
from pydantic import BaseModel

TEXT = "Otters sleep in space. "
CALL = {"name": "count_otters", "arguments": {"planet": "Mars"}}
STEPS: list[Any] = [{"reasoning": "How many?"}, {"text": TEXT}, {"tool_call": CALL}]
TOOL = {"type": "function", "name": "count_otters", "parameters": {"type": "object", "properties": {}}, "strict": False}

# What the provider sends and the package has no field for: whether an answer is stored, and characters that hide an event's length.
NOT_IN_THE_PACKAGE = {"store", "obfuscation"}
CONNECTION_LOST = (openai.APIConnectionError, httpx2.TransportError)


@contextmanager
def mock(program: str, *hops: dict[str, Any]) -> Iterator[OpenAI]:
    """The package's client, before a mock that plays these hops."""
    playing = subprocess.Popen([program, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert playing.stdin and playing.stdout
    with playing:
        playing.stdin.write(json.dumps({"hops": hops}))
        playing.stdin.flush()
        url = json.loads(playing.stdout.readline())["base_url"]
        with OpenAI(base_url=url, api_key="key", max_retries=0, _strict_response_validation=True) as client:
            yield client
        playing.stdin.close()


def create(client: OpenAI, **options: Any) -> Any:
    options = {"background": True, "tools": [TOOL], **options}
    return client.responses.create(model="mock-model", input="Write a novel about otters.", **options)


def unknown(value: Any, at: str = "") -> Iterator[str]:
    """The keys that the package does not know."""
    if isinstance(value, BaseModel):
        for key in value.model_extra or {}:
            yield f"{at}.{key}"
        for key in value.model_fields_set:
            yield from unknown(getattr(value, key, None), f"{at}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item, f"{at}[]")


def take(stream: Any, events: list[Any]) -> bool:
    """Takes the events of a body. Returns whether its connection was lost."""
    try:
        for event in stream:
            events.append(event)
    except CONNECTION_LOST:
        return True
    finally:
        for event in events:
            assert_known(event)
    return False


def assert_known(value: BaseModel) -> None:
    surplus = {key for key in unknown(value) if key.rsplit(".", 1)[-1] not in NOT_IN_THE_PACKAGE}
    assert not surplus, f"the package does not know {surplus}"


def complete(response: Response) -> None:
    assert_known(response)
    assert (response.status, response.background) == ("completed", True), response
    assert response.output_text == TEXT
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]


def read_on(program: str) -> None:
    """A stream that breaks off after any number of events continues where it broke off."""
    for every in range(1, 6):
        with mock(program, {"steps": STEPS, "drop_every": every}) as client:
            events: list[Any] = []
            is_lost = take(create(client, stream=True), events)
            answer = events[0].response.id
            bodies = 1
            while is_lost:
                last = events[-1].sequence_number
                is_lost = take(client.responses.retrieve(answer, stream=True, starting_after=last), events)
                bodies += 1
            assert [event.sequence_number for event in events] == list(range(len(events)))
            assert bodies == len(events) // every + 1, (every, bodies)
            kinds = [event.type for event in events]
            assert kinds[:3] == ["response.created", "response.queued", "response.in_progress"], kinds
            deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
            assert "".join(deltas) == TEXT
            complete(events[-1].response)
            complete(client.responses.retrieve(answer))
            again: list[Any] = []
            take(client.responses.retrieve(answer, stream=True), again)
            assert again == events[:every]


def poll(program: str) -> None:
    """An answer without a stream is asked for until it is there."""
    with mock(program, {"steps": STEPS, "reads": 2}) as client:
        response = create(client)
        seen = [response.status]
        while response.status in {"queued", "in_progress"}:
            response = client.responses.retrieve(response.id)
            seen.append(response.status)
        assert seen == ["queued", "in_progress", "in_progress", "completed"], seen
        complete(response)
        refused(lambda: client.responses.retrieve(response.id, stream=True), openai.BadRequestError, "stream=true")


def too_old(program: str) -> None:
    """An answer that is no longer streamed is read as a whole."""
    with mock(program, {"steps": STEPS, "drop_every": 4, "streams": 1, "reads": 1}) as client:
        events: list[Any] = []
        assert take(create(client, stream=True), events)
        answer = events[0].response.id
        refused(
            lambda: client.responses.retrieve(answer, stream=True, starting_after=3),
            openai.BadRequestError,
            "more than 5 minutes old",
        )
        assert client.responses.retrieve(answer).status == "in_progress"
        complete(client.responses.retrieve(answer))


def cancel(program: str) -> None:
    """An answer that is cancelled ends; one that has ended, or was waited for, is not cancelled."""
    with mock(program, {"steps": [*STEPS, "stall"]}, {"steps": STEPS}, {"steps": STEPS}) as client:
        stream = create(client, stream=True)
        answer = next(iter(stream)).response.id
        assert client.responses.retrieve(answer).status == "in_progress"
        for _ in range(2):
            cancelled = client.responses.cancel(answer)
            assert (cancelled.status, cancelled.output) == ("cancelled", [])
        rest = list(stream)
        assert (rest[-1].type, rest[-1].response.status) == ("response.failed", "cancelled")
        assert client.responses.retrieve(answer).status == "cancelled"

        done = create(client)
        refused(lambda: client.responses.cancel(done.id), openai.BadRequestError, "Cannot cancel a completed response.")
        # The mock's usage of an answer in the foreground lacks a field that is newer.
        client = client.copy(_extra_kwargs={"_strict_response_validation": False})
        waited = create(client, background=False)
        refused(lambda: client.responses.cancel(waited.id), openai.BadRequestError, "Cannot cancel a synchronous response.")
        assert client.responses.retrieve(waited.id).output_text == TEXT


def refusals(program: str) -> None:
    """What the provider refuses is refused, in the form of its errors."""
    with mock(program, {"steps": STEPS}) as client:
        refused(lambda: create(client, store=False), openai.BadRequestError, "/store")
        refused(lambda: client.responses.retrieve("resp_none"), openai.NotFoundError, "not found")
        refused(lambda: client.responses.cancel("resp_none"), openai.NotFoundError, "not found")
        answer = next(iter(create(client, stream=True))).response.id
        stranger = client.with_options(api_key="another")
        refused(lambda: stranger.responses.retrieve(answer), openai.AuthenticationError, "Incorrect API key")


def refused(ask: Any, kind: type[openai.APIStatusError], text: str) -> None:
    try:
        ask()
    except kind as error:
        assert text in error.message, error
        assert error.type == "invalid_request_error", error
    else:
        raise AssertionError(f"this was taken, and not refused as {kind.__name__}: {text}")


for check in (read_on, poll, too_old, cancel, refusals):
    check(sys.argv[1])
    print(f"{check.__name__}: OpenAI's package {openai.__version__} reads the mock as its provider")
