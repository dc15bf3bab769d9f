"""Holds requests against the providers' own types: `python validator.py FILE…`.

A file of `tests/scenarios` has the requests of its run; a `.jsonl` has one request a line, with its provider and format.
Each request that is well is then spoilt in several ways, and each of these must be refused: so the validator is tried too.
"""

from __future__ import annotations

import copy
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pairing
from pydantic import ValidationError
from types_of import CHECKS, Body, Check

# What a provider takes beside what the package knows that its requests are held to, and who says so.
EXTENSIONS: dict[str, set[str]] = {
    # The server gives each call an id, which the package drops. That it takes them back nothing at hand says.
    "ollama ollama": {"messages[].tool_calls[].id", "messages[].tool_call_id"},
    # The service signs calls and wants the signature back; the package's type of a call has no field for it.
    "gemini gemini-interactions": {"input[].signature"},
    # OpenRouter's own, beside OpenAI's, as its SDK has them: `ChatContentText`, `ChatAssistantMessage` and `ChatRequest` in
    # https://github.com/OpenRouterTeam/typescript-sdk/tree/main/src/models.
    "openrouter openai-chat": {
        "messages[].content[].cache_control",
        "messages[].reasoning_details",
        "reasoning",
    },
}

FORMATS = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
    ":streamGenerateContent": "gemini",
    "/interactions": "gemini-interactions",
    "/converse-stream": "bedrock-converse",
    "/v2/chat": "cohere",
    "/api/chat": "ollama",
    "/agent": "ag-ui",
}


def requests(file: Path) -> Iterator[tuple[str, str, str, Body]]:
    """The requests of a file: where each stands, its provider, its format, its body."""
    if file.suffix == ".jsonl":
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            request = json.loads(line)
            yield f"{file.name}:{number}", request["provider"], request["format"], request["body"]
        return
    scenario = json.loads(file.read_text(encoding="utf-8"))
    provider = scenario.get("config", {}).get("provider", "")
    for number, step in enumerate(scenario.get("steps", [])):
        for effect in step.get("gives", {}).get("effects", []):
            if effect.get("effect") == "open_stream" and isinstance(effect.get("body"), dict):
                path = urlsplit(effect["url"]).path
                form = next((form for end, form in FORMATS.items() if path.endswith(end)), "ag-ui")
                if provider == "mistral":
                    form = "mistral"
                yield f"{file.name}, step {number}", provider, form, effect["body"]


class Validator:
    """Says whether a request may be."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def fault(self, provider: str, form: str, body: Body) -> str | None:
        name = f"{provider} {form}"
        kind = name if name in CHECKS else form
        if kind not in self._checks:
            self._checks[kind] = CHECKS[kind]()
        try:
            self._checks[kind](without(body, EXTENSIONS.get(name, set())))
            pairing.check(form, body)
        except ValidationError as error:
            # Of what a union's members say, that of the one that came furthest.
            furthest = max(error.errors(include_url=False), key=lambda each: len(each["loc"]))
            place = ".".join(str(step) for step in furthest["loc"] if "[" not in str(step))
            return f"{place}: {furthest['msg']}, not {furthest['input']!r:.300}"
        except (ValueError, KeyError, TypeError) as error:
            return f"{type(error).__name__}: {error}"
        return None


def without(value: Any, paths: set[str], at: str = "") -> Any:
    """The value without what stands at these paths."""
    if not paths:
        return value
    if isinstance(value, dict):
        inner = {key: f"{at}.{key}".lstrip(".") for key in value}
        return {key: without(value[key], paths, path) for key, path in inner.items() if path not in paths}
    if isinstance(value, list):
        return [without(one, paths, f"{at}[]") for one in value]
    return value


def history(body: Body) -> list[Any]:
    return next(body[name] for name in ("messages", "input", "contents") if name in body)


def spoilt(form: str, body: Body) -> Iterator[tuple[str, Body]]:
    """The request with one fault in it, of each kind that it has room for."""

    def changed(what: str) -> tuple[str, Body, list[Any]]:
        copied = copy.deepcopy(body)
        return what, copied, history(copied)

    turns = pairing.turns_of(form, body)
    what, copied, _ = changed("a stray key of the request")
    copied["stray_key"] = 1
    yield what, copied
    if not turns:
        return
    what, copied, entries = changed("a stray key of a message")
    entries[-1]["stray_key"] = 1
    yield what, copied
    what, copied, entries = changed("a role that is none")
    if "role" in entries[-1]:
        entries[-1]["role"] = "narrator"
        yield what, copied
    answer = next((number for number, turn in enumerate(turns) if turn.answers), None)
    asks = next((number for number, turn in enumerate(turns) if turn.asks), None)
    if answer is not None:
        what, copied, entries = changed("a result twice")
        entries.insert(answer, copy.deepcopy(entries[answer]))
        yield what, copied
        if form != "ag-ui":
            what, copied, entries = changed("a result dropped")
            del entries[answer]
            yield what, copied
    if asks is not None:
        what, copied, entries = changed("a call twice")
        entries.insert(asks, copy.deepcopy(entries[asks]))
        yield what, copied
        what, copied, entries = changed("the roles of a call swapped")
        if "role" in entries[asks]:
            entries[asks]["role"] = "user"
            yield what, copied


def main() -> int:
    validator = Validator()
    checked: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for file in map(Path, sys.argv[1:]):
        for place, provider, form, body in requests(file):
            name = f"{provider} {form}"
            checked[name] += 1
            if fault := validator.fault(provider, form, body):
                faults[name] += 1
                if faults[name] <= 3:
                    print(f"{place} ({name}): {fault}\n  {json.dumps(body)[:2000]}")
                continue
            for what, wrong in spoilt(form, body):
                if validator.fault(provider, form, wrong) is None:
                    faults[name] += 1
                    print(f"{place} ({name}): {what}, and it was taken\n  {json.dumps(wrong)[:2000]}")
                else:
                    refused[what] += 1
    for name, count in sorted(checked.items()):
        print(f"{name}: {count} requests, {faults[name]} faults")
    for what, count in sorted(refused.items()):
        print(f"refused for {what}: {count}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
