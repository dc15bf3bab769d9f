"""The host that the scenario files of ``tests/scenarios`` speak of, in Python. What the names mean stands there."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

from conftest import THOROUGH
from scenario_screens import Screens

from stepwell import Limits, StepwellError, Tool, ToolCallUpdate, ToolOutput
from stepwell.callbacks import AnswerDeclined
from stepwell.machine import AgUiOptions, AnswerGiven, AnswerTool, AskApproval, AskUser, Authorize, CancelAnswer, ChooseModel, CompactionPolicy, Completed, ContextEntry, ContextGuard, CreateRun, DecodeOutput, DevicePolicy, DropResults, Effect, Fallback, FallbackModel, GenerationSettings, HookSpec, HookSubject, HookedAnswer, HookedCall, HookedRequest, HookedResult, JsonSchema, OpenStream, OutputType, Outputs, Persist, RepeatLimit, Retry, RetryPolicy, RunConfig, RunHook, RunMachine, RunTool, Summary, TextMessageContent, TextOptions, Timeouts, TrimContext, TurnOptions
from stepwell.updates import (
    AnswerDropped,
    CallKey,
    ContextNearlyFull,
    ContextTrimmed,
    Custom,
    Event,
    Failed,
    HookRefused,
    HopStarted,
    Incomplete,
    Interrupted,
    LimitReached,
    ModelChanged,
    Outcome,
    OutputRefused,
    ToolArgumentsUpdate,
    OutputUpdate,
    PendingUpdate,
    ReasoningMessageContent,
    Retrying,
    SteeringRefused,
    SteeringTaken,
    StepFinished,
    StepStarted,
    StreamResumed,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStart,
    ToolFailure,
    ToolPartialResult,
    ToolProgress,
    UnknownToolCall,
    WaitingForNetwork,
    WarningUpdate,
)

FOLDER = Path(__file__).resolve().parents[3] / "tests/scenarios"
RUN = "run"
EPOCH = datetime.fromtimestamp(0, timezone.utc)
MILLISECOND = timedelta(milliseconds=1)
SHARE = 13
"""Rust restores before each piece; this host before so many, unless it is thorough."""


def files() -> list[Path]:
    """The scenario files."""
    return sorted(path for path in FOLDER.glob("*.json") if path.stem != "schema")


def load(path: Path) -> Any:
    """A scenario."""
    return json.loads(path.read_text(encoding="utf-8"))


def _seconds(said: dict[str, Any], *names: str) -> dict[str, float | None]:
    """The times of these names, which are in milliseconds there and in seconds here."""
    times = {name: said[f"{name}_ms"] for name in names if f"{name}_ms" in said}
    return {name: None if time is None else time / 1000 for name, time in times.items()}


def _limits(said: dict[str, Any]) -> Limits:
    plain = (
        "max_tool_rounds",
        "continue_after_tools",
        "max_parallel_tools",
        "max_tool_calls",
        "max_tokens",
        "max_cost",
        "at_limit",
        "max_answer_bytes",
        "max_answer_calls",
    )
    given: dict[str, Any] = {name: said[name] for name in plain if name in said}
    return Limits(**given, **_seconds(said, "max_duration"), repeats=RepeatLimit(**said.get("repeats", {})))  # type: ignore[arg-type]


def _settings(said: dict[str, Any]) -> GenerationSettings:
    context = [ContextEntry(**entry) for entry in said.get("context", [])]
    form = said.get("response_format")
    return GenerationSettings(**{**said, "context": context, "response_format": JsonSchema(**form) if form else "text"})


def _retry(said: dict[str, Any]) -> Retry:
    delay = _seconds(said, "first_delay")
    return Retry(kind=said["kind"], attempts=said.get("attempts"), after_text=said.get("after_text", False), **delay)


def config(said: dict[str, Any]) -> RunConfig:
    """The configuration of a scenario."""
    plain = ("provider", "model", "api", "base_url", "key", "instructions", "persist_attempts", "partial_arguments")
    given: dict[str, Any] = {name: said[name] for name in (*plain, "resumption") if name in said}
    retry = dict(said.get("retry", {}))
    device = dict(said.get("device", {}))
    delays = _seconds(retry, "first_delay", "max_delay", "max_retry_after")
    rows = [_retry(dict(row)) for row in retry.pop("by_kind", [])]
    offline = _seconds(device, "offline")
    form = said.get("output")
    output = OutputType(**form) if form else None
    return RunConfig(
        **given,
        output=output,
        hooks=[HookSpec(name=hook["name"], moments=hook["moments"]) for hook in said.get("hooks", [])],
        run_ids=said.get("run_ids", "derived"),
        credentials=said.get("credentials", "fixed"),
        tools=_tools(said),
        settings=_settings(said.get("settings", {})),
        limits=_limits(said.get("limits", {})),
        fallback=_fallback(said.get("fallback", {})),
        retry=RetryPolicy(**{name: retry[name] for name in retry if not name.endswith("_ms")}, **delays, by_kind=rows),  # type: ignore[arg-type]
        timeouts=Timeouts(**_seconds(said.get("timeouts", {}), "silence", "tool", "turn", "approval", "deferred", "credentials", "closing")),
        device=DevicePolicy(**{name: device[name] for name in device if name != "offline_ms"}, **offline),  # type: ignore[arg-type]
        text=TextOptions(**said.get("text", {})),
        context_guard=ContextGuard(**said.get("context_guard", {})),
        compaction=_compaction(said.get("compaction", {})),
        ag_ui=AgUiOptions(**said.get("ag_ui", {})),
    )


def _fallback(said: dict[str, Any]) -> Fallback:
    given: dict[str, Any] = {name: said[name] for name in ("after", "after_text", "choice") if name in said}
    given.update(_seconds(said, "rest"))
    return Fallback(models=[_other_model(model) for model in said.get("models", [])], **given)


def _other_model(said: dict[str, Any]) -> FallbackModel:
    return FallbackModel(**{**said, "settings": _settings(said["settings"]) if "settings" in said else None})


def _compaction(said: dict[str, Any]) -> CompactionPolicy:
    ways = [_way(dict(way)) for way in said.get("ways", [])]
    return CompactionPolicy(**{**said, "ways": ways})


def _way(said: dict[str, Any]) -> DropResults | Summary | Literal["provider", "host"]:
    match said.pop("type"):
        case "drop_results":
            return DropResults(**said)
        case "summary":
            return Summary(**{**said, "model": _other_model(said["model"]) if "model" in said else None})
        case "provider":
            return "provider"
        case _:
            return "host"


def _tools(said: dict[str, Any]) -> list[Tool[..., Any]]:
    return [
        Tool(
            _nothing,
            name=tool["name"],
            description=tool["description"],
            parameters=tool.get("parameters"),
            requires_approval=tool.get("requires_approval", False),
            idempotent=tool.get("idempotent", False),
            repeatable=tool.get("repeatable", False),
            **_seconds(tool, "timeout"),
        )
        for tool in said.get("tools", [])
    ]


def _options(said: dict[str, Any]) -> TurnOptions:
    """The options of a turn."""
    options = dict(said)
    if "settings" in said:
        options["settings"] = _settings(said["settings"])
    if "limits" in said:
        options["limits"] = _limits(said["limits"])
    if "output" in said:
        options["output"] = OutputType(**said["output"])
    return TurnOptions(**{**options, "tools": _tools(said)})  # type: ignore[typeddict-item]


def _nothing() -> None:
    """No tool is run here."""


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def body(step: dict[str, Any]) -> bytes:
    """The bytes that a ``receive`` brings."""
    text = "".join(f"data: {_compact(data)}\n\n" for data in step.get("sse", []))
    for frame in step.get("frames", []):
        text += "".join(f"{name}: {frame[name]}\n" for name in ("id", "event") if name in frame)
        text += f"data: {_compact(frame['data'])}\n\n"
    text += "".join(f"{_compact(line)}\n" for line in step.get("lines", []))
    text += str(step.get("text", ""))
    return text.encode()


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _key(call: CallKey) -> str:
    return f"{call.hop}:{call.index}"


_FAILURES = {
    "api_failure": "api",
    "connection_failure": "connection",
    "stream_failure": "stream",
    "reported_failure": "reported",
    "limit_failure": "limit_reached",
}


def outcome_line(outcome: Outcome) -> str:
    """How a turn ended, in a line."""
    name = _snake(type(outcome).__name__)
    if isinstance(outcome, Incomplete):
        return f"{name} {outcome.reason.value}: {outcome.message}"
    if isinstance(outcome, LimitReached):
        return f"{name} {_snake(type(outcome.limit).__name__)}: {outcome.message}"
    if isinstance(outcome, Failed):
        failure = _snake(type(outcome.failure).__name__)
        return f"{name} {_FAILURES.get(failure, failure)}: {outcome.message}"
    return name


_EVENTS = {
    "output_update": "partial_output",
    "pending_update": "pending",
    "tool_arguments_update": "partial_arguments",
    "warning_update": "warning",
}


def _event(event: Event) -> tuple[str, str | None, str]:
    """An event: its kind, what grows by it, and what it says."""
    kind = _snake(type(event).__name__)
    kind = _EVENTS.get(kind, kind)
    match event:
        case TextMessageContent() | ReasoningMessageContent():
            return kind, event.message_id, event.delta
        case ToolCallArgs():
            return kind, event.tool_call_id, event.delta
        case ToolArgumentsUpdate():
            return kind, event.tool_call_id, ""
        case OutputUpdate():
            return kind, str(event.hop), ""
        case OutputRefused():
            return kind, None, f"{event.retries_left}, {event.reason}"
        case ToolCallStart():
            return kind, None, event.tool_call_name
        case ToolCallResult():
            return kind, None, event.content
        case StepStarted() | StepFinished():
            return kind, None, event.step_name
        case Custom():
            return kind, None, event.name
        case HopStarted():
            return kind, None, f"{event.hop} {event.run_id}"
        case ToolCallUpdate():
            result = event.result
            said = ""
            if isinstance(result, ToolFailure):
                said = f" ({result.kind.value}): {result.message}"
            elif isinstance(result, ToolOutput):
                said = f": {result.content}"
            return kind, None, f"{_key(event.call)} {event.status.value}{said}"
        case Retrying():
            return kind, None, f"{event.attempt} in {round(event.delay * 1000)} ms, {_snake(event.kind.value)}: {event.reason}"
        case Interrupted():
            return kind, None, " ".join(asked.id for asked in event.interrupts)
        case PendingUpdate():
            return kind, None, " ".join(each.id for each in event.pending)
        case AnswerDropped():
            return kind, None, event.effect
        case WarningUpdate():
            return kind, None, event.message
        case Completed():
            return kind, None, outcome_line(event.outcome)
        case UnknownToolCall():
            return kind, None, event.tool_call_id
        case SteeringTaken():
            return kind, None, f"{event.message_id} {event.hop}"
        case SteeringRefused():
            return kind, None, event.reason.value
        case WaitingForNetwork():
            return kind, None, str(round(event.up_to * 1000))
        case StreamResumed():
            return kind, None, f"{event.hop}:{event.attempt}"
        case ContextNearlyFull():
            return kind, None, f"{event.tokens} of {event.window}"
        case ToolProgress():
            percent = "" if event.fraction is None else f" {round(event.fraction * 100)} %"
            return kind, None, f"{_key(event.call)}{percent}" + (f" {event.message}" if event.message else "")
        case ToolPartialResult():
            return kind, None, f"{_key(event.call)} {event.content}"
        case HookRefused():
            return kind, None, f"{event.hook} {event.moment.value}, {event.reason}"
        case ContextTrimmed():
            return kind, None, f"{event.tokens}, without {' '.join(event.left_out)}"
        case ModelChanged():
            after = "" if event.after is None else f" after {_snake(event.after.value)}"
            return kind, None, f"{event.previous.model} to {event.model.model}{after}"
    return kind, None, ""


def _effect(effect: Effect) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    match effect:
        case CreateRun():
            fields = {"thread_id": effect.thread_id, "parent_run_id": effect.parent_run_id}
        case OpenStream() | CancelAnswer():
            request = effect.request
            fields = {"method": request.method, "url": request.url, "headers": dict(request.headers)}
            fields["body"] = json.loads(request.body) if request.body else None
        case AskApproval() | RunTool():
            call = effect.invocation
            fields = {"tool_call_id": call.tool_call_id, "name": call.name}
            fields |= {"arguments": call.arguments, "raw_arguments": call.raw_arguments}
            fields["attempt"] = call.attempt if call.attempt > 1 else None
        case AskUser():
            fields = {"tool_call_id": effect.invocation.tool_call_id}
            fields |= {"message": effect.question.message, "schema": effect.question.schema}
        case AnswerTool(answer=AnswerGiven(value)):
            fields = {"value": value}
        case AnswerTool(answer=AnswerDeclined(reason)):
            fields = {"reason": reason}
        case Persist():
            fields = {"turn": effect.turn, "status": effect.status.value}
            fields["outcome"] = outcome_line(effect.outcome) if effect.outcome else None
            fields["blocks"] = [
                {"sequence": block.sequence, "hop": block.hop, "content": block.content} for block in effect.blocks
            ]
        case ChooseModel():
            fields = {"context": dataclasses.asdict(effect.context)}
        case DecodeOutput():
            fields = {"value": effect.value}
        case TrimContext():
            fields = {"tokens": effect.tokens, "window": effect.window}
            fields["messages"] = [{"message_id": each.message_id, "tokens": each.tokens} for each in effect.messages]
        case Authorize():
            fields = {"rejected": effect.rejected}
        case RunHook():
            fields = _subject(effect.subject) | {"hook": effect.hook}
    named = {"id": effect.id, "effect": _snake(type(effect).__name__)}
    return named | {name: value for name, value in fields.items() if value is not None}


def _subject(subject: HookSubject) -> dict[str, Any]:
    match subject:
        case HookedRequest():
            return {"instructions": subject.instructions, "messages": subject.messages}
        case HookedAnswer():
            return {"text": subject.text}
        case HookedCall():
            return {"name": subject.invocation.name, "arguments": subject.invocation.arguments}
        case HookedResult():
            return {"name": subject.invocation.name, "content": subject.content, "is_error": subject.is_error}
    raise TypeError(subject)


class Host:
    """The runs of a scenario, and what is stored of them."""

    def __init__(self, scenario: Any) -> None:
        self.config = config(scenario["config"])
        self.runs = {RUN: RunMachine(self.config, thread_id="thread-1", history=scenario.get("history", []))}
        self.written: dict[str, str] = {}
        self.now = EPOCH
        self._screens = Screens()
        self._screens.begin(RUN, scenario.get("history", []))

    def digests(self) -> dict[str, str | None]:
        """How each run stands."""
        return {name: machine.digest() for name, machine in self.runs.items()}

    def chats(self) -> dict[str, Any]:
        """What a chat screen shows of each run."""
        return self._screens.shown(self.runs)

    def restore_all(self) -> None:
        """Stores every run and takes it from the store again."""
        for name, machine in self.runs.items():
            self.runs[name] = RunMachine.restore(machine.snapshot(), self.config)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Takes one step: what came of it."""
        if "at" in step:
            self.now = EPOCH + step["at"] * MILLISECOND
        name = step.get("run", RUN)
        error = None
        came: list[Outputs] = []
        try:
            for outputs in self._play(name, step):
                came.append(outputs)
        except StepwellError as refused:
            error = refused.message
        machine = self.runs[name]
        came.append(machine.poll_outputs())
        self._screens.take(name, came, self.now)
        gives: dict[str, Any] = {"state": machine.state.value}
        if (wake := machine.poll_timeout()) is not None:
            gives["wake_at"] = (wake - EPOCH) // MILLISECOND
        if machine.output is not None:
            gives["output"] = machine.output
        if error is not None:
            gives["error"] = error
        effects = [effect for outputs in came for effect in outputs.effects]
        for effect in effects:
            if isinstance(effect, Persist):
                self.written[f"{name} {effect.id}"] = machine.snapshot()
        if effects:
            gives["effects"] = [_effect(effect) for effect in effects]
        if lines := _lines([event for outputs in came for event in outputs.events]):
            gives["events"] = lines
        return gives

    def _play(self, name: str, step: dict[str, Any]) -> Iterator[Outputs]:
        match step["input"]:
            case "new_run":
                other = step.get("history_of")
                history = self.runs[other].messages if other else []
                thread = step.get("thread_id", "thread-1")
                self.runs[name] = RunMachine(self.config, thread_id=thread, history=history)
                self._screens.begin(name, history)
            case "restore":
                self.runs[name] = RunMachine.restore(self.runs[name].snapshot(), self.config)
            case "revive":
                written = step.get("written")
                snapshot = self.written[f"{name} {written}"] if written else self.runs[name].snapshot()
                self.runs[name] = RunMachine.revive(snapshot, self.config, now=self.now)
                self._screens.resume(name)
            case "receive":
                data = body(step)
                cut = step.get("cut", len(data))
                for at in range(0, len(data), cut):
                    if step.get("restore_between") and (THOROUGH or at // cut % SHARE == 0):
                        self.restore_all()
                    yield self.runs[name].receive(step["effect"], data[at : at + cut], now=self.now)
            case _:
                outputs = _input(self.runs[name], step)(now=self.now)
                self._screens.act(name, step, self.now)
                yield outputs


def _answers(step: dict[str, Any]) -> dict[str, Any]:
    return {answer["interruptId"]: answer.get("payload") for answer in step.get("answers", [])}


def _input(machine: RunMachine, step: dict[str, Any]) -> Callable[..., Outputs]:
    """The method of a step with all its arguments but the time."""
    kind = step["input"]
    method = getattr(machine, kind)
    arguments: list[Any] = [step["effect"]] if "effect" in step else []
    named: dict[str, Any] = {}
    match kind:
        case "start":
            arguments = [step.get("say")]
            named = {name: step[name] for name in ("run_id", "parent_run_id", "message") if name in step}
            named["resume"] = _answers(step)
            named |= _options(step.get("options", {}))
        case "authorized":
            arguments.append(step.get("key"))
            named = {"headers": step.get("headers")}
        case "hook_answered":
            names = {"reason": "refused", "message": "failed", "content": "result"}
            given = ("instructions", "messages", "arguments", "content", "reason", "message")
            named = {names.get(name, name): step[name] for name in given if name in step}
        case "opened":
            arguments.append(step.get("content_type"))
        case "refused":
            arguments += [step["status"], _compact(step["body"]).encode()]
            named = _seconds(step, "retry_after")
        case "approve":
            arguments.append(step.get("arguments"))
        case "tool_progress":
            arguments += [step.get("fraction"), step.get("message")]
        case "tool_asks":
            arguments += [step["number"], step["message"], step["schema"]]
        case "answer":
            arguments.append(step["value"])
        case "decline":
            arguments.append(step.get("reason"))
        case "deny" | "output_refused":
            arguments.append(step.get("reason"))
        case "context_trimmed":
            arguments.append(step["keep"])
            named = {"summary": step.get("summary")}
        case "model_resting":
            arguments = [step["model"], EPOCH + step["until_ms"] * MILLISECOND]
        case "model_chosen":
            arguments.append(step["model"])
        case "resume":
            arguments = [_answers(step)]
        case "cancel_call":
            hop, index = step["call"].split(":")
            arguments = [CallKey(int(hop), int(index))]
        case "steer":
            arguments = [step["say"]]
            named = {"message_id": step["message_id"]}
        case _:
            arguments += [step[name] for name in ("run_id", "message", "content") if name in step]

    def call(now: datetime) -> Outputs:
        outputs: Outputs = method(*arguments, **named, now=now)
        return outputs

    return call


def _lines(events: list[Event]) -> list[str]:
    """The events in a line each; pieces of one thing that follow each other are one, however the bytes were cut."""
    lines: list[tuple[str, str | None, str]] = []
    for kind, grows, detail in map(_event, events):
        if lines and grows is not None and lines[-1][:2] == (kind, grows):
            detail = lines.pop()[2] + detail
        lines.append((kind, grows, detail))
    return [f"{kind}: {detail}" if detail else kind for kind, _, detail in lines]
