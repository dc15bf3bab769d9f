"""The options of agents and of single runs, as plain keywords."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._ffi import stepwell_ffi as _ffi
from ._record import Json
from ._settings import JsonSchema, lower_tool
from .arguments import LazyNames, check
from .errors import MisuseError
from .sampling import SAMPLING, with_sampling
from .tool_bugs import ToolErrors
from .tools import Tool, as_tool

if TYPE_CHECKING:
    from ._ffi.config import AgUiOptions, CompactionPolicy, ContextGuard, DevicePolicy, GenerationSettings, Limits, ModelPrice
    from ._ffi.config import RetryPolicy, TextOptions, Timeouts
    from .hooks import Hook
    from .journals import JournalSink
    from .model import Model
    from .registry import RunRegistry
    from .runner import Answerer, Approver, InstructionsSource, ModelChooser, RunSource, Trimmer
    from .sessions import SessionStore
    from .stores import Store
    from .transport import HttpClient

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:

    class Unpack:
        """A substitute for the hint of that name, which this Python lacks."""

        def __class_getitem__(cls, options: object) -> object:
            return Any


WhenBusy = Literal["fail", "cancel", "queue", "steer"]
"""What happens to a message while another turn of its conversation is under way. ``fail``: its turn fails at once with
``BusyError``. ``cancel``: the other turn is cancelled. ``queue``: the message waits for the end of the other turn. ``steer``: the
message joins the other turn, whose model answers it."""


FailureKind = Literal[
    "authentication",
    "permission",
    "not_found",
    "rate_limit",
    "quota",
    "context_too_long",
    "invalid_request",
    "refused",
    "content_filter",
    "output_invalid",
    "server_error",
    "overloaded",
    "invalid_response",
    "connection",
    "timeout",
]
"""A kind of failure of a model."""


class ModelSettings(TypedDict, total=False):
    """The settings for the model's answers. A setting that is left out has the provider's default."""

    temperature: float
    """Randomness."""
    top_p: float
    """Only the likeliest tokens are considered, which together have this probability."""
    stop: str | Sequence[str]
    """Texts before which the answer ends."""
    seed: int
    """Makes answers repeatable, as far as the provider can."""
    max_tokens: int
    """The most tokens of an answer; ``Limits.max_tokens`` is for all answers of a turn."""
    tool_choice: Literal["auto", "never", "required"] | Tool[..., Any]
    """Whether the model may, must or must not call tools; or the one tool that it must call."""
    parallel_tool_calls: bool
    """Whether the model may ask for several tools at once."""
    response_format: Literal["text", "json"] | JsonSchema
    """What form the answer has, where it is not a type of the app's."""
    reasoning: Literal["off", "low", "medium", "high"]
    """How much the model thinks before it answers."""
    cache_prompt: Literal["five_minutes", "one_hour"]
    """How long the provider should keep the instructions, the tools and the conversation so far in its prompt cache."""
    user: str
    """An identifier that the app gives the end user of the request. Never the user's name or address."""
    extra: Mapping[str, Json]
    """Fields for the request's body in the provider's own words; they override Stepwell's."""
    settings: GenerationSettings | Mapping[str, Any]
    """The same in one value; a keyword of its own overrides it."""


class RunOptions(ModelSettings, total=False):
    """The options of one run that differ from its agent's; an option that is left out is as in the agent.

    The options are stored with the turn, and a revived turn continues with them, except for two things. The headers may
    be secret and are not stored, and calls of the run's own tools are answered as those of a tool without code.
    """

    instructions: str
    """The app's instructions, instead of the agent's."""
    limits: Limits | Mapping[str, Any]
    """How far the turn may go; they replace all of the agent's limits."""
    tools: Sequence[Tool[..., Any] | Callable[..., Any]]
    """Tools of this run only. A tool replaces the agent's tool of the same name."""
    tool_names: Sequence[str]
    """Which of the agent's tools are on offer, by name."""
    headers: Mapping[str, str]
    """Additional headers, which replace the agent's of the same names. They are not stored."""
    whole_history: bool
    """Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left."""
    when_busy: WhenBusy
    """What happens if another turn of the conversation is under way."""
    model: Model | str
    """Another model. The agent keeps its connections to the other model for later runs."""
    run_id: str
    """The id of the run; a random one if left out."""
    parent_run_id: str
    """The run that this one continues."""
    resume: Mapping[str, Json]
    """The answers to the interrupts that an earlier turn of an AG-UI agent ended with, by their ids; ``None`` dismisses
    one."""


class AgentOptions(ModelSettings, total=False):
    """What an ``Agent`` takes, besides its model, its tools, its output type and the type of its ``deps``."""

    instructions: str | InstructionsSource
    """The app's own instructions; sent first, and no part of the history. Or a function, plain or async, that makes those
    of each turn, of the turn and what was said so far."""
    limits: Limits | Mapping[str, Any]
    """How far a turn may go."""
    retry: RetryPolicy | Mapping[str, Any]
    """When a failed request is retried."""
    fallback: Sequence[Model | str]
    """Other models, which are asked in this order when the one before has failed, after its retries. The turn stays with the
    model that answers, and reports ``ModelChanged``."""
    fallback_after: Sequence[FailureKind]
    """The kinds of failure after which another model is asked: ``overloaded``, ``rate_limit``, ``server_error``,
    ``connection`` and ``timeout`` if left out. ``output_invalid`` includes empty answers."""
    fallback_after_text: bool
    """Whether another model is asked even if the user has seen a part of the answer. The part stays, marked as cut, and the
    other model answers in a message of its own."""
    model_rest: float
    """How long a model that has failed is not asked first, by all agents of the process, in seconds: a minute if left out."""
    model_for: ModelChooser | None
    """Chooses the model of each hop among the agent's own and its ``fallback``: a function, plain or async, from a
    ``HopContext`` to the name of a model, or to its number; 0 is the agent's own."""
    timeouts: Timeouts | Mapping[str, Any]
    """How long things may take."""
    device: DevicePolicy | Mapping[str, Any]
    """What happens when the device is suspended, or the network goes or changes."""
    context_guard: ContextGuard | Mapping[str, Any]
    """What happens when the conversation fills the model's context window."""
    compaction: CompactionPolicy | Mapping[str, Any]
    """How a long conversation is kept from filling the model's context window: the ``ways`` are used in their order, before a
    request that would fill more than the part ``at`` of the context, and the update ``ContextTrimmed`` reports it. The way
    ``host`` is the agent's ``trim_context``."""
    summary_model: Model | str
    """The model that writes the summaries, instead of the agent's own. Without a ``compaction`` that says otherwise, summaries
    are the one way."""
    text_options: TextOptions | Mapping[str, Any]
    """How the model's text is shown."""
    ag_ui: AgUiOptions | Mapping[str, Any]
    """How an AG-UI agent differs from the protocol."""
    price: ModelPrice | Mapping[str, Any]
    """The price of the model, instead of the price that Stepwell knows."""
    resumption: Literal["never", "last_event_id", "replay", "snapshot"]
    """How a stream that breaks off is resumed; as Stepwell knows the provider if left out."""
    partial_arguments: bool
    """Whether the arguments of tool calls are parsed while they stream, for the update ``ToolArgumentsUpdate``."""
    approver: Approver | None
    """Asks the user about tools with ``requires_approval``. It is cancelled if the turn ends before, or another reply
    comes first. Without one the calls wait, and are listed by ``pending`` of the turn and its conversation; a ``run`` denies
    them."""
    answerer: Answerer | None
    """Asks the user what running tools want to know (``ToolContext.ask``), as the ``approver`` does. Without one the questions
    wait, and are listed by ``pending`` of the turn and its conversation; a ``run`` declines them."""
    hooks: Sequence[Hook]
    """Look at requests, answers and tools, change them, or refuse them with a reason, in this order."""
    store: SessionStore | Store | None
    """Where the turns of conversations are kept. A run without a conversation is not stored."""
    wait_for_store: bool
    """Whether turns wait for the ``store`` if it is full or out of reach, however long it takes."""
    when_busy: WhenBusy
    """What happens to a message while another turn of its conversation is under way: ``fail`` if left out."""
    on_tool_error: ToolErrors
    """What becomes of an exception in a tool that is no ``ToolError``: ``hide`` tells the model that the tool failed and
    nothing of the exception, ``show`` shows it the type and the text, ``raise`` stops the turn and raises the exception
    where the turn is awaited or looped over. If left out, ``hide``; ``raise`` with a model of ``stepwell.testing``."""
    client: HttpClient | None
    """Sends the requests with the app's own HTTP client, such as an ``httpx.AsyncClient``, on the event loop that the run
    was begun on."""
    journal: JournalSink | None
    """Takes the journals of the turns, for ``stepwell.machine.replay_journal``."""
    run_source: RunSource | None
    """Creates the runs of the hops, for a backend that makes their ids."""
    trim_context: Trimmer | None
    """Shortens a conversation that no longer fits the model's context. If left out, such a turn fails."""
    registry: RunRegistry | None
    """Which conversations have a turn under way, and what is unread: a registry that was stored, or that several agents
    share."""


class AgentKeywords(AgentOptions, total=False):
    """All that an ``Agent`` takes by keyword, except for types."""

    tools: Sequence[Tool[..., Any] | Callable[..., Any]]
    """Functions that the model may ask for; see ``tool``."""


_GROUPS: dict[str, str] = {
    "limits": "Limits",
    "retry": "RetryPolicy",
    "timeouts": "Timeouts",
    "device": "DevicePolicy",
    "context_guard": "ContextGuard",
    "compaction": "CompactionPolicy",
    "text_options": "TextOptions",
    "ag_ui": "AgUiOptions",
    "price": "ModelPrice",
    "settings": "GenerationSettings",
}
"""The options that are one value of several fields, or a mapping with these."""

_late = LazyNames()

_PLAIN = frozenset(ModelSettings.__annotations__) - {"settings"}


@functools.cache
def _hint(kind: type, name: str) -> Any:
    """Returns the type of an option."""
    hint: Any = kind.__annotations__[name]
    return eval(str(getattr(hint, "__forward_arg__", hint)), globals(), LazyNames())


def checked(of: str, kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options, each of its type; an option that is ``None`` counts as left out. ``of`` is what takes them."""
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name not in kind.__annotations__:
            raise TypeError(f"{of} has no option `{name}`; {_meant(name, kind)}")
        if value is None:
            continue
        if name in _GROUPS and isinstance(value, Mapping):
            value = _group(f"`{name}` of {of}", name, value)
        elif isinstance(value, (str, bool, int, float)) and name in _SIMPLE and isinstance(value, _SIMPLE[name]):
            given[name] = value
            continue
        check(f"`{name}` of {of}", value, _hint(kind, name))
        given[name] = value
    return given


_SIMPLE: dict[str, type] = {"instructions": str, "run_id": str, "parent_run_id": str}
"""Options that are most often of one simple type: their check needs no type hints."""


def _meant(unknown: str, kind: type) -> str:
    import difflib

    old = {"provider": "the model: `Model.openai(…)`", "key": "`api_key` of `Model`", "base_url": "`base_url` of `Model`"}
    if unknown in old:
        return f"give {old[unknown]}"
    names = list(kind.__annotations__)
    near = difflib.get_close_matches(unknown, names, n=1, cutoff=0.75)
    if near:
        return f"give `{near[0]}`, if that is meant"
    for name, group in _GROUPS.items():
        fields = {field.name for field in dataclasses.fields(_late[group])}
        if name in names and unknown in fields:
            return f"give `{name}={{\"{unknown}\": …}}`, if that is meant"
    return f"give one of {', '.join(f'`{name}`' for name in names)}"


def _group(where: str, name: str, value: Mapping[str, Any]) -> Any:
    if name == "settings":
        return value
    given = _named(where, _late[_GROUPS[name]], value)
    if name == "retry" and isinstance(rows := given.get("by_kind"), (list, tuple)):
        row = _late["Retry"]
        given["by_kind"] = [row(**_named(f"`by_kind` of {where}", row, it)) if isinstance(it, Mapping) else it for it in rows]
    return _late[_GROUPS[name]](**given)


def _named(where: str, group: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a mapping, each of which is one of the group's."""
    known = [field.name for field in dataclasses.fields(group)]
    for each in value:
        if each not in known:
            raise MisuseError(f"{where} has no field `{each}`", f"give one of {', '.join(f'`{it}`' for it in known)}")
    return dict(value)


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings for the model's answers among the options, as plain keywords."""
    settings: dict[str, Any] = {}
    whole = given.get("settings")
    if whole is not None and not isinstance(whole, Mapping):
        for field in dataclasses.fields(whole):
            default = field.default if field.default is not dataclasses.MISSING else {}
            if (value := getattr(whole, field.name)) != default:
                settings["max_tokens" if field.name == "max_output_tokens" else field.name] = value
    elif whole is not None:
        settings.update(checked("`settings`", ModelSettings, {name: each for name, each in whole.items() if name != "context"}))
        if "context" in whole:
            settings["context"] = whole["context"]
    settings.update({name: value for name, value in given.items() if name in _PLAIN})
    return settings


def generation_settings(plain: Mapping[str, Any], model: Model) -> GenerationSettings:
    """Returns plain settings in the form of the library's configuration; ``model`` decides the names of some."""
    from ._ffi.config import GenerationSettings

    rest = {name: value for name, value in plain.items() if name not in SAMPLING}
    if "max_tokens" in rest:
        rest["max_output_tokens"] = rest.pop("max_tokens")
    extra = with_sampling(plain, model)
    if extra:
        rest["extra"] = extra
    return GenerationSettings(**rest)


def lower_run_options(
    given: Mapping[str, Any], of_agent: Mapping[str, Any], model: Model, output: Any = None
) -> tuple[_ffi.TurnOptions, tuple[Tool[..., Any], ...]]:
    """Converts checked options of a run to the library's form, and returns the run's own tools.

    ``of_agent`` are the agent's own plain settings, and ``output`` is the type of the answer in the library's form."""
    tools = tuple(as_tool(tool) for tool in given.get("tools", ()))
    plain = plain_settings(given)
    if plain.keys() & {*SAMPLING, "extra"}:
        # They share a field, which the library replaces as a whole.
        shared = {name: of_agent[name] for name in (*SAMPLING, "extra") if name in of_agent}
        if "extra" in shared and "extra" in plain:
            shared["extra"] = {**shared["extra"], **plain["extra"]}
            plain.pop("extra")
        plain = {**shared, **plain}
    user = plain.pop("user", None)
    limits, names, when_busy = given.get("limits"), given.get("tool_names"), given.get("when_busy")
    return _ffi.TurnOptions(
        instructions=given.get("instructions"),
        settings=generation_settings(plain, model).lower() if plain else None,
        limits=None if limits is None else limits.lower(),
        tool_names=None if names is None else list(names),
        tools=[lower_tool(tool) for tool in tools],
        user=user,
        output=output,
        whole_history=given.get("whole_history", False),
        when_busy=None if when_busy is None else getattr(_ffi.WhenBusy, when_busy.upper()),
        headers=dict(given.get("headers", {})),
    ), tools
