"""What an agent is, in the form that the library takes."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import tool_bugs
from ._ffi import stepwell_ffi as _ffi
from ._settings import Summary
from .errors import MisuseError
from .model import Model
from .options import generation_settings, plain_settings
from .output import TypedOutput
from .tools import Tool, as_tool, wanted_deps

if TYPE_CHECKING:
    from ._ffi.config import CompactionPolicy, FallbackModel, GenerationSettings, OutputType, RunConfig
    from .runner import TurnRunner
    from .sessions import SessionStore


class Definition:
    """The options of an agent, checked. It does not change."""

    def __init__(self, model: Model, output_type: Any, deps_type: Any, given: Mapping[str, Any]) -> None:
        self.model = model
        self.deps_type = deps_type
        self.given = given
        self.output_type = output_type
        self.settings = plain_settings(given)
        self.tools: tuple[Tool[..., Any], ...] = tuple(as_tool(tool) for tool in given.get("tools", ()))
        if given.get("wait_for_store") and given.get("store") is None:
            raise MisuseError("`wait_for_store` of `Agent` has no store to wait for", "give the agent its `store`")
        names = [tool.name for tool in self.tools]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise MisuseError(f"there is a tool named `{name}` already", "give each a `name` of its own")
        for tool in self.tools if isinstance(deps_type, type) else ():
            wanted = wanted_deps(tool)
            if wanted is not None and not issubclass(deps_type, wanted):
                raise MisuseError(
                    f"the tool `{tool.name}` wants `deps` of the type {wanted.__name__}, and those of the agent are of the type "
                    f"{deps_type.__name__}",
                    "give the agent the `deps_type` of its tools, or leave the tool out",
                )
        instructions = given.get("instructions")
        self.instructions: str | None = instructions if isinstance(instructions, str) else None
        self.instructions_source: Any = None if isinstance(instructions, str) else instructions
        self.client = given.get("client")
        self.fallback: tuple[Model, ...] = tuple(Model.of(other) for other in given.get("fallback", ()))
        summaries = given.get("summary_model")
        self.summary_model: Model | None = None if summaries is None else Model.of(summaries)
        self.registry = given.get("registry")
        self.typed: TypedOutput | None = None if output_type is None else TypedOutput(output_type)
        """The type of the answers; ``None`` for text."""
        guard = given.get("context_guard")
        if guard is not None and guard.at_limit == "trim" and given.get("trim_context") is None:
            raise MisuseError(
                "the agent has no code that says what to leave out of a full context",
                "give it a `trim_context`, or take another policy",
            )
        policy = given.get("compaction")
        if policy is not None and "host" in policy.ways and given.get("trim_context") is None:
            raise MisuseError(
                "the agent has no code that compacts a conversation",
                "give it a `trim_context`, or leave `host` out of the ways",
            )
        hooks = [hook.name or type(hook).__name__ for hook in given.get("hooks", ())]
        if len({*hooks}) < len(hooks):
            raise MisuseError("two hooks have one name", "give each a `name` of its own")

    @property
    def store(self) -> SessionStore | None:
        """The store of the conversations that have none of their own."""
        from .sessions import session_store_of

        return session_store_of(self.given.get("store"))

    def with_model(self, model: Model) -> Definition:
        """Returns the same definition of another model."""
        return Definition(model, self.output_type, self.deps_type, self.given)

    def type_of(self, output_type: Any) -> TypedOutput | None:
        """Returns the type of a run's answer; ``None`` is the agent's."""
        return self.typed if output_type is None else TypedOutput(output_type)

    def config(self) -> tuple[RunConfig, Any]:
        """Returns the configuration, and the function that gives the keys, if there is one."""
        from ._ffi.config import AgUiOptions, ContextGuard, DevicePolicy, Fallback, Limits, RetryPolicy
        from ._ffi.config import RunConfig, TextOptions, Timeouts

        given, model = self.given, self.model
        key, source = model.key_and_source()
        custom = [*model.custom_providers]
        custom += [each for other in self._others() for each in other.custom_providers if each not in custom]
        typed = self.typed
        output: OutputType | None = None if typed is None or typed.is_text else typed.asked
        config = RunConfig(
            provider=model.provider,
            model=model.name,
            api=model.api,
            base_url=model.base_url,
            key=key,
            headers=dict(model.headers),
            instructions=self.instructions,
            settings=generation_settings(self.settings, model),
            limits=given.get("limits", Limits()),
            retry=given.get("retry", RetryPolicy()),
            fallback=Fallback(
                models=[self._other_model(other, generation_settings(self.settings, other)) for other in self.fallback],
                after=given.get("fallback_after", ()),
                after_text=given.get("fallback_after_text", False),
                rest=given.get("model_rest"),
            ),
            timeouts=given.get("timeouts", Timeouts()),
            partial_arguments=given.get("partial_arguments", False),
            device=given.get("device", DevicePolicy()),
            resumption="background" if model.background else given.get("resumption"),
            providers=custom,
            price=given.get("price"),
            text=given.get("text_options", TextOptions()),
            context_guard=given.get("context_guard", ContextGuard()),
            compaction=self._compaction(),
            ag_ui=given.get("ag_ui", AgUiOptions()),
            output=output,
            when_busy=given.get("when_busy", "fail"),
            tools=self.tools,
        )
        return config, source

    def _others(self) -> tuple[Model, ...]:
        """Returns the models that are asked besides the agent's own."""
        return self.fallback if self.summary_model is None else (*self.fallback, self.summary_model)

    def _compaction(self) -> CompactionPolicy:
        """Returns the policy of compaction, with the model for its summaries."""
        from ._ffi.config import CompactionPolicy

        policy: CompactionPolicy = self.given.get("compaction", CompactionPolicy())
        if self.summary_model is None:
            return policy
        ways = list(policy.ways)
        writer = self._other_model(self.summary_model, None)
        for number, way in enumerate(ways):
            if isinstance(way, Summary):
                ways[number] = dataclasses.replace(way, model=writer)
                break
        else:
            ways.append(Summary(model=writer))
        return dataclasses.replace(policy, ways=ways)

    def _other_model(self, model: Model, settings: GenerationSettings | None) -> FallbackModel:
        from ._ffi.config import FallbackModel

        key, source = model.key_and_source()
        return FallbackModel(
            provider=model.provider,
            model=model.name,
            api=model.api,
            base_url=model.base_url,
            key=key,
            headers=dict(model.headers),
            credentials=None if source is None else "host",
            settings=settings,
            resumption="background" if model.background else None,
        )

    def _key_sources(self) -> dict[tuple[str, str], Any]:
        """Returns the functions that give keys, by the provider and the name of their model."""
        sources = {(model.provider, model.name): model.key_and_source()[1] for model in (self.model, *self._others())}
        return {name: source for name, source in sources.items() if source is not None}

    def lowered(self, store: SessionStore | None) -> tuple[_ffi.RunConfig, _ffi.AgentSetup]:
        """Returns the definition in the library's form."""
        from .hooks import spec_of
        from .journals import Sink

        given = self.given
        config, source = self.config()
        lowered = config.lower()
        if given.get("run_source") is not None:
            lowered.run_ids = _ffi.RunIds.HOST
        if given.get("trim_context") is not None:
            lowered.context_guard.at_limit = _ffi.ContextPolicy.TRIM
        if given.get("model_for") is not None:
            lowered.fallback.choice = _ffi.ModelChoice.HOST
        if source is not None:
            lowered.credentials = _ffi.Credentials.HOST
        lowered.hooks = [spec_of(hook) for hook in given.get("hooks", ())]
        journal, registry = given.get("journal"), given.get("registry")
        setup = _ffi.AgentSetup(
            store=None if store is None else _ffi.StoreSetup(store=store.inner, waits=given.get("wait_for_store", False)),
            journal=None if journal is None else Sink(journal),
            registry=None if registry is None else registry.inner,
            on_tool_error=_ffi.OnToolError.SHOW_MODEL if given.get("on_tool_error") == "show" else None,
        )
        return lowered, setup

    def duties(self) -> _ffi.RunnerDuties:
        """Returns which of the app's code a turn's runner calls."""
        given = self.given
        return _ffi.RunnerDuties(
            sends_requests=self.client is not None,
            makes_instructions=self.instructions_source is not None,
            asks_approvals=given.get("approver") is not None,
            asks_questions=given.get("answerer") is not None,
        )

    def runner(
        self,
        loop: asyncio.AbstractEventLoop,
        typed: TypedOutput | None,
        tools: Sequence[Tool[..., Any]],
        deps: object,
    ) -> TurnRunner:
        """Returns the code of a turn that begins on this event loop."""
        from .runner import TurnRunner

        given = self.given
        return TurnRunner(
            loop,
            (*self.tools, *tools),
            given.get("approver"),
            given.get("answerer"),
            deps,
            self.client,
            given.get("run_source"),
            given.get("trim_context"),
            given.get("model_for"),
            None if typed is None else typed.read,
            self._key_sources(),
            self.instructions_source,
            given.get("hooks", ()),
            given.get("on_tool_error") or tool_bugs.default_for(self.model.base_url),
            self.model.base_url,
        )
