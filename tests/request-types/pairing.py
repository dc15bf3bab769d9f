"""What no type says: each call has one result, behind the answer that asks, and no answer is said twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass
class Turn:
    """One entry of a history: who speaks, which calls it asks for, which it answers."""

    role: str
    asks: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def _messages(body: Body) -> list[Turn]:
    """Chat Completions and what follows it: results are messages of their own."""
    turns = []
    for message in body["messages"]:
        asks = [call["id"] for call in message.get("tool_calls") or message.get("toolCalls") or []]
        answered = message.get("tool_call_id") or message.get("toolCallId")
        turns.append(Turn(message["role"], asks, [answered] if answered else []))
    return turns


def _anthropic(body: Body) -> list[Turn]:
    turns = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        asks = [block["id"] for block in blocks if block["type"] == "tool_use"]
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        turns.append(Turn(message["role"], asks, answers))
    return turns


def _bedrock_converse(body: Body) -> list[Turn]:
    turns = []
    for message in body["messages"]:
        asks = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        answers = [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block]
        turns.append(Turn(message["role"], asks, answers))
    return turns


def _responses(body: Body) -> list[Turn]:
    turns = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            turns.append(Turn("assistant", [item["call_id"]]))
        elif item.get("type") == "function_call_output":
            turns.append(Turn("tool", [], [item["call_id"]]))
        else:
            turns.append(Turn(item.get("role", "assistant")))
    return turns


def _by_order(entries: list[tuple[str, list[str], list[str]]]) -> list[Turn]:
    """Where calls have no ids, the name and the place among the calls of that name is one."""
    asked: Counter[str] = Counter()
    answered: Counter[str] = Counter()

    def ids(names: list[str], seen: Counter[str]) -> list[str]:
        made = []
        for name in names:
            made.append(f"{name}#{seen[name]}")
            seen[name] += 1
        return made

    return [Turn(role, ids(asks, asked), ids(answers, answered)) for role, asks, answers in entries]


def _gemini(body: Body) -> list[Turn]:
    entries = []
    for content in body["contents"]:
        parts = content["parts"]
        asks = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        entries.append((content["role"], asks, answers))
    return _by_order(entries)


def _interactions(body: Body) -> list[Turn]:
    turns = []
    for step in body["input"]:
        match step["type"]:
            case "user_input":
                turns.append(Turn("user", [], []))
            case "function_call":
                turns.append(Turn("model", [step["id"]], []))
            case "function_result":
                turns.append(Turn("user", [], [step["call_id"]]))
            case _:
                turns.append(Turn("model", [], []))
    return turns


def _ollama(body: Body) -> list[Turn]:
    entries = []
    for message in body["messages"]:
        asks = [call["function"]["name"] for call in message.get("tool_calls") or []]
        entries.append((message["role"], asks, [message["tool_name"]] if message["role"] == "tool" else []))
    return _by_order(entries)


# Who may speak, where the types leave it open.
ROLES = {
    "bedrock-converse": {"user", "assistant"},
    "gemini": {"user", "model"},
    "ollama": {"system", "user", "assistant", "tool"},
}

TURNS: dict[str, Callable[[Body], list[Turn]]] = {
    "anthropic": _anthropic,
    "bedrock-converse": _bedrock_converse,
    "openai-responses": _responses,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "ollama": _ollama,
}


def turns_of(api: str, body: Body) -> list[Turn]:
    """The history of a request."""
    return TURNS.get(api, _messages)(body)


def check(api: str, body: Body) -> None:
    """Raises what is wrong with the history of a request."""
    turns = turns_of(api, body)
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, turn in enumerate(turns):
        if turn.role not in ROLES.get(api, {turn.role}):
            raise ValueError(f"turn {number} is of {turn.role}")
        for call in turn.answers:
            if call not in open_calls:
                raise ValueError(f"turn {number} answers {call}, which is not open")
            open_calls.remove(call)
        # Results of one answer may come one by one; an answer may ask call by call, and speak between where it has items.
        goes_on = turn.answers or turn.asks or (api == "openai-responses" and turn.role == "assistant")
        goes_on = goes_on or (api == "gemini-interactions" and turn.role == "model")
        if open_calls and not goes_on and api != "ag-ui":
            raise ValueError(f"turn {number} ({turn.role}) comes before the results of {open_calls}")
        for call in turn.asks:
            if turn.role not in ("assistant", "model"):
                raise ValueError(f"turn {number} ({turn.role}) asks for {call}")
            if call in seen:
                raise ValueError(f"turn {number} asks for {call} once more")
            seen.add(call)
            open_calls.append(call)
    if open_calls and api != "ag-ui":
        raise ValueError(f"no result for {open_calls}")
