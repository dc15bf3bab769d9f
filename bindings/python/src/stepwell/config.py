"""How a run is set up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from . import _ffi
from ._record import Json
from .arguments import checks_fields
from .tools import Tool, as_tool


@dataclass(frozen=True, kw_only=True)
@checks_fields
class JsonSchema:
    """The form of an answer that is JSON of a schema."""

    name: str
    """What the form is called: letters, digits, ``_`` and ``-``."""
    schema: Mapping[str, Json]
    """The JSON Schema."""
    strict: bool = True
    """Whether the provider must hold the model to it, where it can be asked to."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class TextOptions:
    """How the model's text is shown. The history stays as the model wrote it."""

    break_after_tools: bool = True
    """A line break goes before the first text after tool calls, so that the texts of two hops do not run together."""
    drop_blank: bool = False
    """A message is shown from its first character on that is no blank: one of nothing but blanks is not shown."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class ContextGuard:
    """What happens when the conversation fills the model's context window. It rests for models whose window is not
    known."""

    window: int | None = None
    """The most tokens that the model takes, question and answer together; what Stepwell knows of it if ``None``."""
    warn_at: float | None = 0.8
    """How full the context may be before the model is warned, as a part of it; never if ``None``."""
    at_limit: Literal["send", "fail", "trim"] = "fail"
    """What happens to a request that does not fit: it is sent all the same, the turn fails, or a ``RunMachine`` asks
    what to leave out, with the effect ``TrimContext``."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class AgUiOptions:
    """How an AG-UI agent differs from what is expected of one. What is ``None`` is as Stepwell knows the provider."""

    encoding: Literal["json", "json_first", "protobuf_first"] | None = None
    """The encodings of the event stream that it is offered, the first one first; JSON alone if nothing is known. What
    it answers with decides."""
    is_before_1_0: bool | None = None
    """Whether it is from before AG-UI 1.0, and stumbles over a ``protocolVersion``: none is sent then."""
    keeps_unknown: bool | None = None
    """Whether the app is handed events and fields that AG-UI 1.0 does not know; the protocol has them dropped."""
    verification: Literal["protocol", "lenient"] | None = None
    """What becomes of events that break the order that the protocol allows: every breach ends the stream, as the
    protocol has it, or what breaks a rule is dropped and the run goes on. ``protocol`` if nothing is known."""
    extra_rules: Literal["off", "warn", "fatal"] | None = None
    """What becomes of breaches of the rules that the protocol's text has and the reference client does not check:
    nothing, a warning in the log, or the end of the stream. ``warn`` if nothing is known."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class ContextEntry:
    """Something that an AG-UI agent is to know beside the conversation: AG-UI's ``Context``."""

    description: str
    """What it is."""
    value: str
    """What it says."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class GenerationSettings:
    """How the model is to answer. What is ``None`` is as the provider has it."""

    temperature: float | None = None
    """How freely the model chooses its words: 0 is hardly at all."""
    max_output_tokens: int | None = None
    """The most tokens of one answer."""
    tool_choice: Literal["auto", "never", "required"] | Tool[..., Any] = "auto"
    """Whether the model may, must or must not call tools; or the one tool that it must call."""
    parallel_tool_calls: bool | None = None
    """Whether the model may ask for several tools at once."""
    response_format: Literal["text", "json"] | JsonSchema = "text"
    """What form the answer has."""
    reasoning: Literal["off", "low", "medium", "high"] | None = None
    """How much the model thinks before it answers."""
    cache_prompt: bool = False
    """Whether the instructions, the tools and the conversation so far are marked for the provider's prompt cache, for
    the providers that want marks."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Fields for the request's body in the provider's own words; they win over Stepwell's. Tools that the provider runs
    itself (``tools``) stand beside the app's."""
    context: Sequence[ContextEntry] = ()
    """What an AG-UI agent is to know beside the conversation. Other APIs are not sent it."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class RepeatLimit:
    """How often the model may ask for the same tool with the same arguments; ``None`` is without end.

    A call counts as the same again if it follows itself, or if it gave the same result as the time before. A tool that
    is ``repeatable`` never counts.
    """

    tell_after: int | None = 3
    """So often it is run. A further call is not: the model is told instead."""
    stop_after: int | None = 5
    """So often it may be asked for. After that the turn stops, for ``NoProgress``."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class Limits:
    """How far a run may go; ``None`` is without a limit."""

    max_tool_rounds: int = 10
    """The most rounds of tools in a turn."""
    continue_after_tools: bool = True
    """Whether the model goes on with the results of its tools. If not, a turn ends when its first round of tools is done,
    with the results in the history; the next turn sends them."""
    max_tool_calls: int | None = None
    """The most tool calls in a turn. A round that would go beyond is not begun."""
    max_tokens: int | None = None
    """The most tokens of a turn, as the provider counts them. When they are used up, no further round is begun."""
    max_duration: float | None = None
    """The longest that a turn may take and still begin a round of tools, in seconds. What runs is not broken off, and
    waiting for the user does not count. ``Timeouts.turn`` is the hard end."""
    max_parallel_tools: int = 8
    """The most tools of a round that run side by side. Further calls wait in their order."""
    repeats: RepeatLimit = RepeatLimit()
    """When a model that asks for the same again and again is told, and when it is stopped."""
    at_limit: Literal["fail", "complete", "sum_up"] = "complete"
    """What happens when the model asks for tools beyond one of these limits: the turn fails, completes, or has one last
    hop without tools. A model that makes no progress is stopped in any case."""
    max_answer_bytes: int = 32 << 20
    """The most bytes of one answer: its text, reasoning, arguments, results, activities and shared state, with 256 for
    each message and call. An answer that goes beyond is stopped at once, and the turn fails."""
    max_answer_calls: int = 1_000
    """The most calls that one answer may leave without a result. An answer that goes beyond is stopped in the same
    way."""
    max_line_bytes: int = 10 << 20
    """The longest line of a stream."""
    max_event_bytes: int = 10 << 20
    """The most data of one event of a stream."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class RetryPolicy:
    """When a request that failed is tried again: before anything of the answer was seen, or where the server can resume
    it. Times are in seconds."""

    attempts: int = 4
    """The most tries for one hop, the first included."""
    first_delay: float = 0.5
    """The pause after the first failure; it doubles with each further one."""
    max_delay: float = 8.0
    """The longest pause."""
    max_retry_after: float = 120.0
    """The longest ``Retry-After`` that is waited for; the run fails if the provider asks for more."""
    jitter: float = 0.2
    """By how much a pause may be shorter or longer, as a part of it."""
    seed: int = 0
    """What the chance in the pauses comes from: the same seed gives the same pauses."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class Timeouts:
    """How long things may take, in seconds; ``None`` is without end."""

    silence: float | None = 120.0
    """How long the model may be silent, from the request or from its last bytes on."""
    tool: float | None = 300.0
    """How long a tool may take, if it does not say so itself."""
    turn: float | None = None
    """How long a whole turn may take. Waiting for the user, or for a deferred result alone, does not count."""
    approval: float | None = None
    """How long the user may take to allow a call. Then it is not run, and the model is told."""
    deferred: float | None = None
    """How long the result of a deferred call may take."""
    closing: float | None = 2.0
    """How long the stream of an answer that is over may stay open: for what the answer cost, say. Then it is closed, and
    the turn goes on."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class DevicePolicy:
    """What happens to a run when something happens to the device, as ``RunMachine.entered_background`` and its
    neighbours tell it."""

    background: Literal["continue", "pause_clocks", "cancel"] = "pause_clocks"
    """When the app goes to the background: nothing, all clocks but the user's stand still, or the turn is cancelled."""
    offline: float | None = 300.0
    """When the network is gone: how long requests wait for it, in seconds, and one that failed without it is no try. With
    ``None`` they are sent all the same, and one that fails is not tried again."""
    network_change: Literal["keep", "reopen"] = "keep"
    """When another network takes the place of the one before: what is under way is left alone, or opened again if
    nothing was seen of it, or where the server can resume it."""
    killed: Literal["continue", "cancel"] = "continue"
    """When the app was killed, and the run is revived: the turn goes on, or is cancelled."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class RunConfig:
    """All that a run is to know before it starts. It is no part of a snapshot, so keys never reach the store."""

    provider: str
    """The provider's name, such as ``openai`` or ``openai-compatible``."""
    model: str = ""
    """The model's name, as the provider has it."""
    api: str | None = None
    """Which of the provider's APIs; its usual one if ``None``."""
    base_url: str | None = None
    """An address in place of the provider's own; for AG-UI the agent's whole address."""
    key: str | None = field(default=None, repr=False)
    """The provider's key. It is in no snapshot, journal or log."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers to send besides the provider's own."""
    instructions: str | None = None
    """The app's own instructions; sent first, and no part of the history."""
    tools: Sequence[Tool[..., Any] | Callable[..., Any]] = ()
    """The tools on offer."""
    settings: GenerationSettings = GenerationSettings()
    """How the model is to answer."""
    limits: Limits = Limits()
    """How far a turn may go."""
    retry: RetryPolicy = RetryPolicy()
    """When a request that failed is tried again."""
    timeouts: Timeouts = Timeouts()
    """How long things may take."""
    host_creates_runs: bool = False
    """Whether the backend makes the ids of the continuations' runs: a ``RunMachine`` then asks for each."""
    persist_attempts: int | None = None
    """With a number, a ``RunMachine`` gives out each finished block to be stored, and tries a write that often."""
    partial_arguments: bool = False
    """Whether tool calls' arguments are parsed while they stream, for the event ``PartialArguments``."""
    device: DevicePolicy = DevicePolicy()
    """What happens to the run when something happens to the device."""
    resumption: Literal["never", "last_event_id", "replay", "snapshot"] | None = None
    """How a stream that breaks off is gone on with: after the event that a request names in ``Last-Event-ID``, from the
    first event on, or from a ``MESSAGES_SNAPSHOT``. As Stepwell knows the provider if ``None``."""
    providers: Sequence[Mapping[str, Json]] = ()
    """Providers of the app's own, for ``provider`` to name, each as in the file that ``stepwell --providers`` takes."""
    text: TextOptions = TextOptions()
    """How the model's text is shown."""
    context: ContextGuard = ContextGuard()
    """What happens when the conversation fills the model's context window."""
    ag_ui: AgUiOptions = AgUiOptions()
    """How an AG-UI agent differs from what is expected of one."""

    def lower(self) -> _ffi.RunConfig:
        """The library's form."""
        return _ffi.RunConfig(
            provider=self.provider,
            model=self.model,
            api=self.api,
            base_url=self.base_url,
            key=self.key,
            headers=dict(self.headers),
            instructions=self.instructions,
            tools=[_tool(as_tool(tool)) for tool in self.tools],
            settings=_settings(self.settings),
            limits=_limits(self.limits),
            retry=_ffi.RetryPolicy(
                attempts=self.retry.attempts,
                first_delay_ms=_ms(self.retry.first_delay),
                max_delay_ms=_ms(self.retry.max_delay),
                max_retry_after_ms=_ms(self.retry.max_retry_after),
                jitter=self.retry.jitter,
                seed=self.retry.seed,
            ),
            timeouts=_ffi.Timeouts(
                silence_ms=_optional_ms(self.timeouts.silence),
                tool_ms=_optional_ms(self.timeouts.tool),
                turn_ms=_optional_ms(self.timeouts.turn),
                approval_ms=_optional_ms(self.timeouts.approval),
                deferred_ms=_optional_ms(self.timeouts.deferred),
                closing_ms=_optional_ms(self.timeouts.closing),
            ),
            run_ids=_ffi.RunIds.HOST if self.host_creates_runs else None,
            persist_attempts=self.persist_attempts,
            partial_arguments=self.partial_arguments,
            device=_device(self.device),
            resumption=_ffi.Resumption[self.resumption.upper()] if self.resumption else None,
            providers_json=json.dumps({"providers": [dict(each) for each in self.providers]}) if self.providers else None,
            text=_ffi.TextOptions(
                break_after_tools=self.text.break_after_tools,
                drop_blank=self.text.drop_blank,
            ),
            context=_ffi.ContextGuard(
                window=self.context.window,
                warn_at=self.context.warn_at,
                at_limit=_ffi.ContextPolicy[self.context.at_limit.upper()],
            ),
            ag_ui=_ag_ui(self.ag_ui),
        )


def _tool(tool: Tool[..., Any]) -> _ffi.ToolDefinition:
    return _ffi.ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json=json.dumps(tool.parameters),
        requires_approval=tool.requires_approval,
        idempotent=tool.idempotent,
        repeatable=tool.repeatable,
        timeout_ms=_optional_ms(tool.timeout),
    )


def _settings(settings: GenerationSettings) -> _ffi.GenerationSettings:
    choice: Any = None
    if isinstance(settings.tool_choice, Tool):
        choice = _ffi.ToolChoice.NAMED(settings.tool_choice.name)
    elif settings.tool_choice == "never":
        choice = _ffi.ToolChoice.NEVER()
    elif settings.tool_choice == "required":
        choice = _ffi.ToolChoice.REQUIRED()
    form: Any = None
    if isinstance(settings.response_format, JsonSchema):
        schema = settings.response_format
        form = _ffi.ResponseFormat.SCHEMA(schema.name, json.dumps(dict(schema.schema)), schema.strict)
    elif settings.response_format == "json":
        form = _ffi.ResponseFormat.JSON()
    return _ffi.GenerationSettings(
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        tool_choice=choice,
        parallel_tool_calls=settings.parallel_tool_calls,
        response_format=form,
        reasoning=None if settings.reasoning is None else _ffi.ReasoningEffort[settings.reasoning.upper()],
        cache_prompt=settings.cache_prompt,
        extra_json=json.dumps(dict(settings.extra)) if settings.extra else None,
        context=[_ffi.ContextEntry(description=entry.description, value=entry.value) for entry in settings.context],
    )


def _ag_ui(options: AgUiOptions) -> _ffi.AgUiOptions:
    return _ffi.AgUiOptions(
        encoding=_ffi.AgUiEncoding[options.encoding.upper()] if options.encoding else None,
        is_before_1_0=options.is_before_1_0,
        keeps_unknown=options.keeps_unknown,
        verification=_ffi.Verification[options.verification.upper()] if options.verification else None,
        extra_rules=_ffi.ExtraRules[options.extra_rules.upper()] if options.extra_rules else None,
    )


def _limits(limits: Limits) -> _ffi.Limits:
    return _ffi.Limits(
        max_tool_rounds=limits.max_tool_rounds,
        continue_after_tools=limits.continue_after_tools,
        max_tool_calls=limits.max_tool_calls,
        max_tokens=limits.max_tokens,
        max_duration_ms=_optional_ms(limits.max_duration),
        max_parallel_tools=limits.max_parallel_tools,
        repeats=_ffi.RepeatLimit(tell_after=limits.repeats.tell_after, stop_after=limits.repeats.stop_after),
        at_limit=_ffi.LimitPolicy[limits.at_limit.upper()],
        max_answer_bytes=limits.max_answer_bytes,
        max_answer_calls=limits.max_answer_calls,
        max_line_bytes=limits.max_line_bytes,
        max_event_bytes=limits.max_event_bytes,
    )


def _device(policy: DevicePolicy) -> _ffi.DevicePolicy:
    return _ffi.DevicePolicy(
        background=_ffi.BackgroundPolicy[policy.background.upper()],
        offline_ms=_optional_ms(policy.offline),
        network_change=_ffi.NetworkChangePolicy[policy.network_change.upper()],
        killed=_ffi.KilledPolicy[policy.killed.upper()],
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _optional_ms(seconds: float | None) -> int | None:
    return None if seconds is None else _ms(seconds)
