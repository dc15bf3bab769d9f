"""Messages as types, the transcript that holds them, and how both are JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, AssistantMessage, SystemMessage, ToolCall, ToolResult, Transcript, UserMessage, image, tool
from stepwell.messages import ActivityMessage, DeveloperMessage, ReasoningMessage, UnknownMessage

Start = Callable[..., MockLlm]

EACH: list[dict[str, Any]] = [
    {"id": "1", "role": "user", "content": "Hi", "name": "Ada"},
    {"id": "2", "role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": {}}]},
    {"id": "3", "role": "system", "content": "Be kind."},
    {"id": "4", "role": "developer", "content": "Be brief."},
    {"id": "5", "role": "reasoning", "content": "Well", "encryptedValue": "x"},
    {
        "id": "6",
        "role": "assistant",
        "content": "Let me look.",
        "toolCalls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a" : 1}'}, "encryptedValue": "y"}],
    },
    {"id": "7", "role": "assistant", "toolCalls": [{"id": "d", "type": "function", "function": {"name": "look", "arguments": "{no"}}]},
    {"id": "8", "role": "tool", "toolCallId": "c", "content": "a thing"},
    {"id": "9", "role": "tool", "toolCallId": "d", "content": "", "error": "no JSON"},
    {"id": "10", "role": "activity", "activityType": "plan", "content": {"steps": []}},
    {"id": "11", "role": "future", "content": 7},
    {"id": "12", "role": "assistant", "content": "Done.", "metadata": {"refusal": "no"}},
]


def test_a_transcript_reads_and_writes_json_without_a_loss() -> None:
    transcript = Transcript.from_json(EACH)
    assert transcript.to_json() == EACH
    assert Transcript.from_json(json.dumps(EACH)) == transcript
    kinds = [UserMessage, UserMessage, SystemMessage, DeveloperMessage, ReasoningMessage, AssistantMessage, AssistantMessage]
    kinds += [ToolResult, ToolResult, ActivityMessage, UnknownMessage, AssistantMessage]
    assert [type(message) for message in transcript] == kinds
    assert [message.text for message in transcript][:3] == ["Hi", "Look", "Be kind."]


def test_the_cases_can_be_matched() -> None:
    found: list[object] = []
    for message in Transcript.from_json(EACH):
        match message:
            case UserMessage(content=str(said)):
                found.append(said)
            case AssistantMessage(tool_calls=[ToolCall(name=name, arguments=arguments)]):
                found.append((name, arguments))
            case ToolResult(error=str(error)):
                found.append(error)
    assert found == ["Hi", ("look", {"a": 1}), ("look", "{no"), "no JSON"]


def test_ids_are_made_where_they_are_absent() -> None:
    first, second = UserMessage("Hi"), UserMessage("Hi")
    assert first.id and first.id != second.id
    assert ToolCall("look", {}).id
    assert Transcript.from_json([{"role": "user", "content": "Hi"}])[0].id


def test_a_transcript_is_a_collection_that_prints_nothing_of_what_was_said() -> None:
    one = Transcript([UserMessage("my secret")])
    both = one + [AssistantMessage("a secret too")]
    assert (len(one), len(both), both[:1], both[-1].text) == (1, 2, one, "a secret too")
    assert repr(both) == "Transcript(user, assistant)"
    assert one != both and one in {one: 1}


async def test_messages_that_the_app_writes_reach_the_model(mock_llm: Start) -> None:
    @tool
    def look(what: str) -> str:
        return what

    history = [
        SystemMessage("Be kind."),
        UserMessage(["Look", image(b"\x89PNG\r\n\x1a\n")]),
        AssistantMessage("Let me see.", [call := ToolCall("look", {"what": "x"})]),
        ToolResult(call.id, "x"),
        AssistantMessage("It is x."),
    ]
    mock = mock_llm(calls(("look", {"what": "y"})), text("It is y."))
    result = await Agent(mock.model, tools=[look]).conversation(history=history).send(UserMessage("And now?"))
    sent = mock.requests()[0]["body"]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"what": "x"}
    assert mock.failures() == []
    assert result.messages[: len(history)].to_json() == Transcript(history).to_json()
    (asked,) = [message for message in result.messages if isinstance(message, AssistantMessage) and message.tool_calls][1:]
    assert (asked.tool_calls[0].name, asked.tool_calls[0].arguments) == ("look", {"what": "y"})


async def test_without_a_prompt_the_history_is_answered(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello."))
    conversation = Agent(mock.model).conversation(history=[UserMessage("Hi")])
    assert (await conversation.send(None)).text == "Hello."
    assert [message.text for message in conversation.messages] == ["Hi", "Hello."]


@pytest.mark.parametrize("wrong", ["Hi", {"role": "user", "content": "Hi"}])
def test_what_is_no_message_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="give a `UserMessage`"):
        Transcript([wrong])
