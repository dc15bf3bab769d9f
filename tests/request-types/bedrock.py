"""Reads the mock model's streams of Converse by boto3: `python bedrock.py MOCK_LLM`, the program.

That AWS's own client signs requests as the mock checks them, and reads its binary messages, is the check that the mock is like the
service: events, exceptions within a stream, keys and signatures that are wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI", "session_token": "token"}
CALL = {"name": "count_otters", "arguments": {"planet": "Mars"}}
STEPS: list[Any] = [{"reasoning": "How many?"}, {"text": "Let me see. "}, {"tool_call": CALL}]
QUESTION = [{"role": "user", "content": [{"text": "How many otters?"}]}]


@contextmanager
def mock(program: str, *hops: dict[str, Any]) -> Iterator[str]:
    """The address of a mock that plays these hops."""
    playing = subprocess.Popen([program, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert playing.stdin and playing.stdout
    with playing:
        playing.stdin.write(json.dumps({"hops": hops, "bearer": "key", "aws_credentials": KEYS}))
        playing.stdin.flush()
        url = json.loads(playing.stdout.readline())["base_url"]
        yield url.removesuffix("/v1") + "/bedrock"
        playing.stdin.close()


def client(url: str, **keys: str) -> Any:
    os.environ.pop("AWS_BEARER_TOKEN_BEDROCK", None)
    given = {f"aws_{name}": value for name, value in (KEYS | keys).items()}
    config = Config(retries={"total_max_attempts": 1})
    return boto3.client("bedrock-runtime", region_name="eu-central-1", endpoint_url=url, config=config, **given)


def converse(package: Any, **more: Any) -> list[dict[str, Any]]:
    return list(package.converse_stream(modelId=MODEL, messages=QUESTION, **more)["stream"])


def streams(program: str) -> None:
    """An answer with reasoning, text and a call, however its bytes are cut; and the next one, with the result."""
    schema = {"type": "object", "properties": {"planet": {"type": "string"}}}
    tools = {"tools": [{"toolSpec": {"name": CALL["name"], "inputSchema": {"json": schema}}}]}
    for size in (None, 1, 7, 100):
        cut = {"chunks_of": size} if size else {}
        with mock(program, {"steps": STEPS, "usage": {"input": 3, "output": 4}, **cut}) as url:
            events = converse(client(url), toolConfig=tools)
        kinds = [next(iter(event)) for event in events]
        assert (kinds[0], kinds[-2:]) == ("messageStart", ["messageStop", "metadata"]), kinds
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        assert "".join(delta.get("text", "") for delta in deltas) == "Let me see. "
        thought = [delta["reasoningContent"] for delta in deltas if "reasoningContent" in delta]
        assert "".join(part.get("text", "") for part in thought) == "How many?" and "signature" in thought[-1]
        assert json.loads("".join(delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta)) == CALL["arguments"]
        assert events[-2]["messageStop"]["stopReason"] == "tool_use"
        assert events[-1]["metadata"]["usage"]["totalTokens"] == 7


def exceptions(program: str) -> None:
    """An exception within a stream is the package's, and so is an error instead of one."""
    for name in ("throttlingException", "modelStreamErrorException", "internalServerException", "validationException"):
        event = {"error_event": {"message": "Oh no", "code": name}}
        with mock(program, {"steps": [{"text": "Hi"}, event]}) as url:
            refused(lambda: converse(client(url)), EventStreamError, name, "Oh no")  # noqa: B023
    for status, name in ((429, "ThrottlingException"), (400, "ValidationException"), (503, "ServiceUnavailableException")):
        with mock(program, {"error": "Oh no", "status": status}) as url:
            refused(lambda: converse(client(url)), ClientError, name, "Oh no")  # noqa: B023


def access(program: str) -> None:
    """A right key and a right signature come in, and no other."""
    with mock(program, {"steps": STEPS[1:2]}, {"steps": STEPS[1:2]}) as url:
        assert converse(client(url))
        wrong = client(url, secret_access_key="another")
        refused(lambda: converse(wrong), ClientError, "InvalidSignatureException", "does not match")
        for stranger in (client(url, access_key_id="AKIDOTHER"), client(url, session_token="old")):
            refused(lambda: converse(stranger), ClientError, "UnrecognizedClientException", "security token")  # noqa: B023
        # The package sends a key of this kind over HTTPS alone.
        assert (bearer(url, "wrong"), bearer(url, "key")) == (403, 200)


def bearer(url: str, key: str) -> int:
    """The status of an answer to a request with this key."""
    path = urllib.parse.quote(MODEL, safe="")
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    body = json.dumps({"messages": QUESTION}).encode()
    request = urllib.request.Request(f"{url}/model/{path}/converse-stream", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def refusals(program: str) -> None:
    """What the service refuses is refused, in the form of its errors."""
    result = {"toolResult": {"toolUseId": "a", "content": [{"text": "1"}]}}
    history = [*QUESTION, {"role": "assistant", "content": [{"text": "Hm"}]}, {"role": "user", "content": [result]}]
    with mock(program, {"steps": STEPS}) as url:
        package = client(url)
        refused(
            lambda: list(package.converse_stream(modelId=MODEL, messages=history)["stream"]),
            ClientError, "ValidationException", "answers a call of the message before",
        )  # fmt: skip


def refused(ask: Any, kind: type[Exception], code: str, text: str) -> None:
    try:
        ask()
    except kind as error:
        said = error.response["Error"]  # type: ignore[attr-defined]
        assert said["Code"] == code and text in said["Message"], said
    else:
        raise AssertionError(f"this was taken, and not refused as {code}: {text}")


for check in (streams, exceptions, access, refusals):
    check(sys.argv[1])
    print(f"{check.__name__}: boto3 {boto3.__version__} reads the mock as its provider")
