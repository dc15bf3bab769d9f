"""Holds requests to Azure OpenAI, Vertex AI and Amazon Bedrock against what the clouds' own packages send: `python clouds.py FILE`.

Each line of the file is a request, with the environment, the model and the key that it was made from. The package gets the same, and
what it would send is compared: the address, the header with the key, and the body.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import boto3
import httpx
from google.genai import Client, types
from google.oauth2.credentials import Credentials
from openai import AzureOpenAI, OpenAI

try:  # The client that newer versions of the package use.
    import httpx2 as openai_httpx
except ImportError:
    openai_httpx = httpx

KEY_HEADERS = ("authorization", "api-key", "x-goog-api-key")


class Sent(Exception):
    """What the package sends. Nothing is answered."""

    def __init__(self, request: Any, body: bytes) -> None:
        self.url = str(request.url)
        headers = ((name.lower(), value) for name, value in request.headers.items())
        self.headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in headers}
        self.body = json.loads(body)


def transport(library: Any) -> Any:
    def send(request: Any) -> Any:
        raise Sent(request, request.read())

    return library.MockTransport(send)


def azure(case: dict[str, Any]) -> None:
    client = openai_httpx.Client(transport=transport(openai_httpx))
    resource = case["environment"]["AZURE_OPENAI_ENDPOINT"].rstrip("/")
    version = case["environment"].get("OPENAI_API_VERSION")
    is_token = case["key"].startswith("eyJ")
    key = {"azure_ad_token" if is_token else "api_key": case["key"]}
    given: dict[str, Any] = {"http_client": client, "max_retries": 0, **key}
    if version and version[0].isdigit():
        package = AzureOpenAI(azure_endpoint=resource, api_version=version, **given)
    elif version:
        package = AzureOpenAI(base_url=f"{resource}/openai/v1/", api_version=version, **given)
    else:
        # Its class for Azure always sends a version; with this one a key goes as a token does.
        package = OpenAI(base_url=f"{resource}/openai/v1/", api_key=case["key"], http_client=client, max_retries=0)
    create = package.chat.completions.create if case["api"] == "chat" else package.responses.create
    create(**case["body"])


def vertex(case: dict[str, Any]) -> None:
    os.environ.pop("GOOGLE_API_KEY", None)
    # Without a location the package asks for the same.
    package = Client(
        vertexai=True,
        project=case["environment"]["GOOGLE_CLOUD_PROJECT"],
        location=case["environment"].get("GOOGLE_CLOUD_LOCATION"),
        credentials=Credentials(token=case["key"]),
        http_options=types.HttpOptions(client_args={"transport": transport(httpx)}),
    )
    body = dict(case["body"])
    config = types.GenerateContentConfig(
        system_instruction=body["systemInstruction"]["parts"][0]["text"], tools=body["tools"], **body["generationConfig"]
    )
    stream = package.models.generate_content_stream(model=case["model"], contents=body["contents"], config=config)
    next(iter(stream))


def bedrock(case: dict[str, Any]) -> None:
    os.environ["AWS_BEARER_TOKEN_BEDROCK"] = case["key"]
    environment = case["environment"]
    # Its packages for other languages look at the first one.
    region = environment.get("AWS_REGION") or environment["AWS_DEFAULT_REGION"]
    package = boto3.client("bedrock-runtime", region_name=region)

    def send(request: Any, **_: Any) -> None:
        raise Sent(request, request.body)

    package.meta.events.register("before-send.bedrock-runtime", send)
    package.converse_stream(modelId=case["model"], **case["body"])


def address(url: str) -> tuple[str, str, list[tuple[str, str]]]:
    parts = urlsplit(url)
    return parts.netloc, parts.path, sorted(parse_qsl(parts.query))


def plain(value: Any) -> Any:
    """The value without what says nothing: fields that are null, and a role that is the usual one."""
    if isinstance(value, dict):
        # Google's package writes this one name as Python does; the service takes both.
        names = {"parameters_json_schema": "parametersJsonSchema"}
        fields = ((names.get(key, key), each) for key, each in value.items() if each is not None)
        return {key: plain(each) for key, each in fields if (key, each) != ("role", "user")}
    return [plain(each) for each in value] if isinstance(value, list) else value


def differences(case: dict[str, Any], sent: Sent) -> list[str]:
    found = []
    if address(case["url"]) != address(sent.url):
        found.append(f"the address: {case['url']}, and the package {sent.url}")
    ours = {name: value for name, value in case["headers"] if name in KEY_HEADERS}
    theirs = {name: value for name, value in sent.headers.items() if name in KEY_HEADERS}
    is_v1 = case["provider"] == "azure" and "OPENAI_API_VERSION" not in case["environment"]
    if ours != theirs and not (is_v1 and ours == {"api-key": case["key"]}):
        found.append(f"the key's header: {ours}, and the package {theirs}")
    if plain(case["body"]) != plain(sent.body):
        found.append(f"the body: {json.dumps(plain(case['body']))}, and the package {json.dumps(plain(sent.body))}")
    return found


def spoilt(case: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The request with one fault in it."""
    yield "another host", case | {"url": case["url"].replace("://", "://other-")}
    yield "another path", case | {"url": case["url"].replace("/openai/", "/").replace("/publishers/", "/").replace("-stream", "")}
    yield "a stray parameter", case | {"url": case["url"] + ("&" if "?" in case["url"] else "?") + "api-version=1"}
    yield "no key", case | {"headers": []}
    yield "a stray field", case | {"body": case["body"] | {"stray": 1}}


def main() -> int:
    faults = 0
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION",
                 "OPENAI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):  # fmt: skip
        os.environ.pop(name, None)
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    for line in lines:
        case = json.loads(line)
        try:
            {"azure": azure, "bedrock": bedrock, "vertex": vertex}[case["provider"]](case)
        except Exception as error:
            # The packages wrap what their transport raises.
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, Sent):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
            for fault in differences(case, cause):
                faults += 1
                print(f"{case['provider']} {case['environment']}: {fault}")
            for what, wrong in spoilt(case):
                if not differences(wrong, cause):
                    faults += 1
                    print(f"{case['provider']} {case['environment']}: {what}, and it was taken")
    print(f"clouds: {len(lines)} requests, {faults} faults")
    return 1 if faults or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
