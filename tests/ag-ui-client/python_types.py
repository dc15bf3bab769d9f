"""The official Python types as a client of `stepwell serve`: `python_types.py URL`.

The package has no client of its own: each request is built of its types, with the nulls that they write, and each event
is read by them. The one from before 1.0 declares no version, and has no type for what ends a run with a question.
"""

import json
import sys
import urllib.request
from importlib.metadata import version

from ag_ui.core import AssistantMessage, Context, Event, FunctionCall, ReasoningMessage, RunAgentInput, Tool, ToolCall
from ag_ui.core import ImageInputContent, InputContentUrlSource, TextInputContent, ToolMessage, UserMessage
from pydantic import BaseModel, TypeAdapter

URL = sys.argv[1]
VERSION = version("ag-ui-protocol")
IS_BEFORE_1_0 = VERSION.startswith("0.")
EVENT = TypeAdapter(Event)
TOOLS = [
    Tool(name="get_location", description="Where the user is.", parameters={"type": "object", "properties": {}}),
    Tool(name="set_theme", description="Sets the app's theme.", parameters={"type": "object", "properties": {}}),
]


def unknown(model: BaseModel, path: str = ""):
    """The fields, at any depth, that the types do not know."""
    for name in model.model_extra or {}:
        yield f"{path}/{name}"
    for name in type(model).model_fields:
        values = getattr(model, name)
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, BaseModel):
                yield from unknown(value, f"{path}/{name}")


class Thread:
    def __init__(self, name: str) -> None:
        self.name, self.runs, self.messages = f"{VERSION}-{name}", 0, []

    def say(self, text, **more):
        self.messages.append(UserMessage(id=f"{self.name}-{self.runs}", content=text))
        return self.run(**more)

    def run(self, **more):
        """Goes on, and gives the last event."""
        self.runs += 1
        declared = {} if IS_BEFORE_1_0 else {"protocol_version": "1.0"}
        asked = RunAgentInput(
            thread_id=self.name,
            run_id=f"{self.name}-run-{self.runs}",
            state={"owner": "me"},
            messages=self.messages,
            tools=TOOLS,
            context=[Context(description="The weather", value="rain")],
            forwarded_props=None if IS_BEFORE_1_0 else {},
            **declared,
            **more,
        )
        # 1.0 leaves out what is absent; before, it was null.
        body = asked.model_dump_json(by_alias=True)
        assert IS_BEFORE_1_0 == ('"encryptedValue":null' in body), body
        request = urllib.request.Request(URL, body.encode(), {"content-type": "application/json"})
        self.events, by_id = [], {}
        with urllib.request.urlopen(request) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    event = EVENT.validate_json(line.removeprefix(b"data: "))
                    assert IS_BEFORE_1_0 or not list(unknown(event)), list(unknown(event))
                    self.events.append(event)
                    self.apply(event, by_id)
        return self.events[-1]

    def apply(self, event, by_id) -> None:
        match event.type.value:
            case "TEXT_MESSAGE_START":
                by_id[event.message_id] = self.add(AssistantMessage(id=event.message_id, content=""))
            case "REASONING_MESSAGE_START":
                by_id[event.message_id] = self.add(ReasoningMessage(id=event.message_id, content=""))
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                by_id[event.message_id].content += event.delta
            case "TOOL_CALL_START":
                parent = event.parent_message_id or event.tool_call_id
                if parent not in by_id:
                    by_id[parent] = self.add(AssistantMessage(id=parent))
                call = ToolCall(id=event.tool_call_id, function=FunctionCall(name=event.tool_call_name, arguments=""))
                by_id[parent].tool_calls = [*(by_id[parent].tool_calls or []), call]
                by_id[event.tool_call_id] = call
            case "TOOL_CALL_ARGS":
                by_id[event.tool_call_id].function.arguments += event.delta
            case "TOOL_CALL_RESULT":
                self.add(ToolMessage(id=event.message_id, tool_call_id=event.tool_call_id, content=event.content))

    def add(self, message):
        self.messages.append(message)
        return message

    def open_calls(self):
        answered = {message.tool_call_id for message in self.messages if message.role == "tool"}
        calls = [call for message in self.messages for call in getattr(message, "tool_calls", None) or []]
        return [call for call in calls if call.id not in answered]

    def answer(self) -> None:
        for call in self.open_calls():
            self.add(ToolMessage(id=f"answer-{call.id}", tool_call_id=call.id, content="Oslo"))

    def kinds(self):
        return [event.type.value for event in self.events]

    def text(self) -> str:
        return "".join(message.content or "" for message in self.messages if message.role == "assistant")

    def interrupts(self):
        outcome = self.events[-1].outcome
        return outcome["interrupts"] if IS_BEFORE_1_0 else [json.loads(it.model_dump_json()) for it in outcome.interrupts]


def finished(event) -> None:
    assert event.type.value == "RUN_FINISHED", event


def text(thread):
    finished(thread.say("hello"))
    assert thread.text().startswith("Hello! I am a scripted model."), thread.text()


def reasoning(thread):
    finished(thread.say("think"))
    assert "REASONING_MESSAGE_CONTENT" in thread.kinds()


def server_tools(thread):
    finished(thread.say("What are the secret numbers?"))
    assert thread.kinds().count("TOOL_CALL_RESULT") == 2, thread.kinds()


def client_tools(thread):
    finished(thread.say("Ask the app"))
    assert len(thread.open_calls()) == 2, thread.messages
    thread.answer()
    finished(thread.run())
    assert thread.text().endswith("Your app has answered."), thread.text()


def tools_of_both(thread):
    finished(thread.say("Ask both"))
    assert len(thread.open_calls()) == 1, thread.messages
    thread.answer()
    finished(thread.run())
    assert thread.text().endswith("Both have answered."), thread.text()


def state(thread):
    finished(thread.say("Put it on the list"))
    assert thread.kinds().count("STATE_DELTA") == 2, thread.kinds()


def question(thread):
    finished(thread.say("change"))
    [interrupt] = thread.interrupts()
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    finished(thread.run(resume=[answer]))
    assert thread.text().endswith("That is settled."), thread.text()


def question_beside_client_tools(thread):
    finished(thread.say("everything"))
    [interrupt] = thread.interrupts()
    [app, _] = thread.open_calls()
    thread.add(ToolMessage(id=f"answer-{app.id}", tool_call_id=app.id, content="Oslo"))
    finished(thread.run(resume=[{"interruptId": interrupt["id"], "status": "cancelled"}]))
    assert thread.text().endswith("All is done."), thread.text()


def picture(thread):
    source = InputContentUrlSource(value="https://example.com/a.png")
    finished(thread.say([TextInputContent(text="hello"), ImageInputContent(source=source)]))
    assert thread.text().startswith("Hello!"), thread.text()


def error(thread):
    last = thread.say("fail")
    assert (last.type.value, last.code) == ("RUN_ERROR", "model_unavailable"), last


SCENES = [text, picture, reasoning, server_tools, client_tools, tools_of_both, state]
SCENES += [question, question_beside_client_tools, error]
for scene in SCENES:
    thread = Thread(scene.__name__)
    scene(thread)
    # The history that came of it goes out again.
    finished(thread.say("hello"))
print(f"ag-ui-protocol {VERSION}: {len(SCENES)} scenes")
