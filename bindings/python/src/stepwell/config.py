"""How a run is set up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from . import _ffi
from ._record import Json
from .tools import Tool, as_tool


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """How the model is to answer. What is ``None`` is as the provider has it."""

    temperature: float | None = None
    max_output_tokens: int | None = None
    tool_choice: Literal["auto", "never", "required"] | Tool[..., Any] = "auto"
    """Whether the model may, must or must not call tools; or the one tool that it must call."""
    parallel_tool_calls: bool | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Fields for the request's body in the provider's own words; they win over Stepwell's."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far a run may go."""

    max_tool_rounds: int = 10
    """The most rounds of tools in a turn."""
    at_limit: Literal["fail", "complete", "sum_up"] = "complete"
    """What happens when the model asks for one more: the turn fails, completes, or has one last hop without tools."""
    max_line_bytes: int = 10 << 20
    max_event_bytes: int = 10 << 20


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """When a request that failed is tried again. Only before anything of the answer was seen. Times are in seconds."""

    attempts: int = 4
    """The most tries for one hop, the first included."""
    first_delay: float = 0.5
    """The pause after the first failure; it doubles with each further one."""
    max_delay: float = 8.0
    max_retry_after: float = 120.0
    """The longest ``Retry-After`` that is waited for; the run fails if the provider asks for more."""
    jitter: float = 0.2
    """By how much a pause may be shorter or longer, as a part of it."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """How long things may take, in seconds; ``None`` is without end."""

    silence: float | None = 120.0
    """How long the model may be silent, from the request or from its last bytes on."""
    tool: float | None = 300.0
    """How long a tool may take, if it does not say so itself."""
    turn: float | None = None
    """How long a whole turn may take. Waiting for the person does not count."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All that a run is to know before it starts. It is no part of a snapshot, so keys never reach the store."""

    provider: str
    """The provider's name, such as ``openai`` or ``openai-compatible``."""
    model: str = ""
    api: str | None = None
    """Which of the provider's APIs; its usual one if ``None``."""
    base_url: str | None = None
    """An address in place of the provider's own; for AG-UI the agent's whole address."""
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers to send besides the provider's own."""
    instructions: str | None = None
    """The app's own instructions; sent first, and no part of the history."""
    tools: Sequence[Tool[..., Any] | Callable[..., Any]] = ()
    settings: GenerationSettings = GenerationSettings()
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    timeouts: Timeouts = Timeouts()
    host_creates_runs: bool = False
    """Whether the backend makes the ids of the continuations' runs: a ``RunMachine`` then asks for each."""
    persist_attempts: int | None = None
    """With a number, a ``RunMachine`` gives out each finished block to be stored, and tries a write that often."""

    partial_arguments: bool = False
    """Whether tool calls' arguments are parsed while they stream, for the event ``PartialArguments``."""

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
            limits=_ffi.Limits(
                max_tool_rounds=self.limits.max_tool_rounds,
                at_limit=_ffi.LimitPolicy[self.limits.at_limit.upper()],
                max_line_bytes=self.limits.max_line_bytes,
                max_event_bytes=self.limits.max_event_bytes,
            ),
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
            ),
            run_ids=_ffi.RunIds.HOST if self.host_creates_runs else None,
            durability=_durability(self.persist_attempts),
            partial_arguments=self.partial_arguments,
        )


def _tool(tool: Tool[..., Any]) -> _ffi.ToolDefinition:
    return _ffi.ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json=json.dumps(tool.parameters),
        requires_approval=tool.requires_approval,
        idempotent=tool.idempotent,
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
    return _ffi.GenerationSettings(
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        tool_choice=choice,
        parallel_tool_calls=settings.parallel_tool_calls,
        extra_json=json.dumps(dict(settings.extra)) if settings.extra else None,
    )


def _durability(attempts: int | None) -> Any:
    return None if attempts is None else _ffi.Durability.BLOCKS(attempts)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _optional_ms(seconds: float | None) -> int | None:
    return None if seconds is None else _ms(seconds)
