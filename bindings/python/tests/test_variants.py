"""That nothing of the library is lost on its way into Python's own classes."""

from __future__ import annotations

import enum
from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest
from machines import at

from stepwell import SessionStore, ThreadKey, Tool, Turn, _record
from stepwell._ffi import stepwell_ffi as _ffi
from stepwell.config import (
    AgUiOptions,
    ContextEntry,
    ContextGuard,
    DevicePolicy,
    GenerationSettings,
    JsonSchema,
    Limits,
    RepeatLimit,
    RetryPolicy,
    TextOptions,
    Timeouts,
)
from stepwell.machine import Block, RunConfig, RunMachine, RunRegistry, TurnStatus
from stepwell.stores import Store, ThreadCursor, ThreadQuery, TurnBlock, TurnKey, TurnRecord, Unfinished
from stepwell.tools import as_tool
import stepwell.providers

UNIONS = [
    "ArgumentsChange",
    "Effect",
    "Event",
    "Failure",
    "Outcome",
    "RegistryEvent",
    "TimerKey",
    "ToolResult",
    "TurnLimit",
    "UserAnswer",
]
ENUMS = [
    "ApiErrorKind",
    "Deadline",
    "EncryptedValueSubtype",
    "Role",
    "StateKind",
    "SteeringRefusal",
    "TextMessageRole",
    "ToolCallStatus",
    "ToolFailureKind",
    "TurnStatus",
]
RECORDS = [
    "ActivityView",
    "Api",
    "Block",
    "CallKey",
    "Capabilities",
    "Claimed",
    "ContextWindow",
    "CredentialRequest",
    "EventCommon",
    "EventLog",
    "InstructionsRequest",
    "Interrupt",
    "JournalReplay",
    "LoggedEvent",
    "MessageView",
    "NewTurn",
    "PersistBatch",
    "Provider",
    "Question",
    "Registered",
    "RunHandle",
    "SessionView",
    "ThreadCursor",
    "ThreadKey",
    "ThreadQuery",
    "ThreadRecord",
    "TokenUsage",
    "ToolExecution",
    "ToolInvocation",
    "TurnBlock",
    "TurnKey",
    "TurnRecord",
    "TurnView",
    "Unfinished",
]


def fields_of(generated: Any) -> set[str]:
    """The fields of a class of the library."""
    return {name for name in generated.__init__.__annotations__ if name != "return"}


@pytest.mark.parametrize("union", UNIONS)
def test_every_variant_has_its_class(union: str) -> None:
    variants = {name: made for name, made in vars(getattr(_ffi, union)).items() if name.isupper()}
    assert variants
    for name, made in variants.items():
        ours, fields = _record._RECORDS.get(made, (None, ()))
        assert ours is not None, f"{union}.{name} has no class"
        assert fields_of(made) == set(fields), f"{union}.{name}"


@pytest.mark.parametrize("name", ENUMS)
def test_every_value_of_an_enum_has_its_own(name: str) -> None:
    generated: type[enum.Enum] = getattr(_ffi, name)
    assert [value.name for value in _record._ENUMS[generated]] == [value.name for value in generated]


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_of_a_record_has_its_own(name: str) -> None:
    generated = getattr(_ffi, name)
    _, fields = _record._RECORDS[generated]
    assert fields
    assert fields_of(generated) == set(fields)


def test_every_method_of_a_registry_has_its_own() -> None:
    assert public(_ffi.RunRegistry) == public(RunRegistry) - {"inner", "of"}


def test_every_method_of_a_store_has_its_own() -> None:
    assert public(_ffi.SessionStore) - {
        "in_memory",
        "of_app",
        "open_postgres",
        "open_sqlite",
        "with_store_runner",
    } == public(SessionStore) - {"inner", "is_here", "on"}
    assert public(Store) == public(_ffi.Store)


def test_what_is_lifted_can_be_lowered() -> None:
    key = TurnKey(ThreadKey("thread", "room", "server"), "turn")
    block = TurnBlock(Block(3, 1, {"type": "text", "text": "x"}), at(7))
    message = {"id": "m", "role": "user", "content": "Hi"}
    for value in (
        TurnRecord(
            "turn",
            "parent",
            message,
            {"messages": [message], "state": {}},
            TurnStatus.COMPLETE,
            {"outcome": "success"},
            at(1),
            at(2),
            [block],
        ),
        Unfinished(key, 2, "owner", at(9)),
        ThreadQuery("server", None, ThreadCursor(at(1), key.thread), 5),
    ):
        assert _record.lift(_record.lower(value)) == value


def public(of: type) -> set[str]:
    """The names of its methods, with those that are generated."""
    classes = [of, *(base for base in of.__mro__ if base.__module__ in ("stepwell._ffi.calls", "stepwell.replies"))]
    return {name for each in classes for name in vars(each) if not name.startswith("_")}


def test_every_method_of_a_turn_has_its_own() -> None:
    # A turn is iterated over, one by one or by `more`, and one method takes both forms of a message, or of a result; what
    # it took is told from its events. What comes of a typed answer is put together here, and `asgi` makes a run of the turn.
    named = {"finish": "result"}
    theirs = public(_ffi.Turn) - {"next_batch", "steer_message", "resolve_call_parts", "to_ag_ui"}
    own = {"more", "updates", "text_stream", "outcome", "plot", "timeline", "partial_output"}
    assert {named.get(name, name) for name in theirs} == public(Turn) - own


def test_every_method_of_the_machine_has_its_own() -> None:
    # One method takes both forms of a message, and of a result.
    named = {"steer_message": "steer", "tool_finished_parts": "tool_finished"}
    theirs = {named.get(name, name) for name in public(_ffi.RunMachine)}
    assert theirs == public(RunMachine)


@pytest.mark.parametrize(
    "ours",
    [Limits, RetryPolicy, Timeouts, DevicePolicy, ContextGuard, TextOptions, AgUiOptions, GenerationSettings],
)
def test_what_is_left_out_is_as_in_the_library(ours: type) -> None:
    lowered = RunConfig(provider="openai", key="k").lower()
    given = {
        Limits: lowered.limits,
        RetryPolicy: lowered.retry,
        Timeouts: lowered.timeouts,
        DevicePolicy: lowered.device,
        ContextGuard: lowered.context_guard,
        TextOptions: lowered.text,
        AgUiOptions: lowered.ag_ui,
        GenerationSettings: lowered.settings,
    }
    default: Any = getattr(_ffi, ours.__name__)()
    said: dict[str, Any] = {
        "at_limit": _ffi.ContextPolicy.FAIL if ours is ContextGuard else _ffi.LimitPolicy.COMPLETE,
        "background": _ffi.BackgroundPolicy.PAUSE_CLOCKS,
        "network_change": _ffi.NetworkChangePolicy.KEEP,
        "killed": _ffi.KilledPolicy.CONTINUE,
    }
    assert vars(default)
    for name, expected in vars(default).items():
        value = getattr(given[ours], name)
        if name in said:
            assert (value, expected) == (said[name], None)
        else:
            assert value == expected, name


@pytest.mark.parametrize(
    ("section", "ours"),
    [("limits", Limits()), ("timeouts", Timeouts()), ("device", DevicePolicy()), ("context_guard", ContextGuard())],
)
def test_none_is_none_and_a_copy_keeps_the_rest(section: str, ours: Any) -> None:
    config = RunConfig(provider="openai", key="k", instructions="Be brief.")
    before = vars(getattr(config.lower(), section))
    optional = [field.name for field in fields(ours) if "None" in field.type]
    assert optional
    for name in optional:
        changed: dict[str, Any] = {section: replace(ours, **{name: None})}
        copy = replace(config, **changed)
        assert copy.instructions == "Be brief."
        lowered = vars(getattr(copy.lower(), section))
        assert lowered == {**before, name: None}


def test_a_repetition_may_be_without_end() -> None:
    limits = Limits(repeats=RepeatLimit(tell_after=None, stop_after=None))
    lowered = RunConfig(provider="openai", key="k", limits=limits).lower().limits.repeats
    assert (lowered.tell_after, lowered.stop_after) == (None, None)


def test_every_field_of_a_configuration_is_set() -> None:
    def nothing() -> None: ...

    made: Tool[..., Any] = Tool(
        nothing, name="n", description="d", requires_approval=True, idempotent=True, repeatable=True, timeout=1.0
    )
    assert as_tool(made) is made
    config = RunConfig(
        provider="openai",
        key="k",
        tools=[made],
        limits=Limits(max_tool_calls=1, max_tokens=2, max_duration=0.003),
        timeouts=Timeouts(turn=1.0, approval=0.002, deferred=0.003),
        device=DevicePolicy(background="cancel", offline=None, network_change="reopen", killed="cancel"),
        resumption="replay",
        settings=GenerationSettings(
            response_format=JsonSchema(name="city", schema={"type": "object"}),
            reasoning="high",
            cache_prompt="one_hour",
            context=[ContextEntry(description="The page", value="Orders")],
        ),
        providers=[{"name": "mine", "dialect": "ollama"}],
        text=TextOptions(break_after_tools=True, drop_blank=True),
        context_guard=ContextGuard(window=9, warn_at=None, at_limit="trim"),
        ag_ui=AgUiOptions(
            encoding="protobuf_first",
            is_before_1_0=True,
            keeps_unknown=True,
            verification="lenient",
            extra_rules="fatal",
        ),
    ).lower()
    (tool,) = config.tools
    assert (tool.requires_approval, tool.idempotent, tool.repeatable, tool.timeout) == (True, True, True, 1.0)
    limits = config.limits
    assert (limits.max_tool_calls, limits.max_tokens, limits.max_duration) == (1, 2, 0.003)
    timeouts = config.timeouts
    assert (timeouts.turn, timeouts.approval, timeouts.deferred) == (1.0, 0.002, 0.003)
    device = config.device
    assert device.background is _ffi.BackgroundPolicy.CANCEL
    assert device.network_change is _ffi.NetworkChangePolicy.REOPEN
    assert device.killed is _ffi.KilledPolicy.CANCEL
    assert device.offline is None
    assert config.resumption is _ffi.Resumption.REPLAY
    settings = config.settings
    assert isinstance(settings.response_format, _ffi.ResponseFormat.SCHEMA)
    form = settings.response_format
    assert (form.name, form.schema, form.strict) == ("city", {"type": "object"}, True)
    assert (settings.reasoning, settings.cache_prompt) == (
        _ffi.ReasoningEffort.HIGH,
        _ffi.CacheLifetime.ONE_HOUR,
    )
    assert config.providers == {"providers": [{"name": "mine", "dialect": "ollama"}]}
    assert (config.text.break_after_tools, config.text.drop_blank) == (True, True)
    guard = config.context_guard
    assert (guard.window, guard.warn_at, guard.at_limit) == (9, None, _ffi.ContextPolicy.TRIM)
    assert settings.context == [_ffi.ContextEntry(description="The page", value="Orders")]
    ag_ui = config.ag_ui
    assert (ag_ui.encoding, ag_ui.is_before_1_0) == (_ffi.AgUiEncoding.PROTOBUF_FIRST, True)
    assert ag_ui.keeps_unknown is True
    assert (ag_ui.verification, ag_ui.extra_rules) == (_ffi.Verification.LENIENT, _ffi.ExtraRules.FATAL)


def test_every_word_for_an_ag_ui_agent_is_known() -> None:
    hints = get_type_hints(AgUiOptions)
    enums: dict[str, Any] = {
        "encoding": _ffi.AgUiEncoding,
        "verification": _ffi.Verification,
        "extra_rules": _ffi.ExtraRules,
    }
    for name, theirs in enums.items():
        words, _ = get_args(hints[name])
        assert {word.upper() for word in get_args(words)} == {each.name for each in theirs}
        for word in get_args(words):
            lowered = RunConfig(provider="ag-ui", ag_ui=AgUiOptions(**{name: word})).lower()
            assert getattr(lowered.ag_ui, name) is theirs[word.upper()]
