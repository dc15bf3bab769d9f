"""What the providers' own packages say that a request may be: a check for each API, and no key that they do not name."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import NotRequired, Required, is_typeddict

Body = dict[str, Any]
# Raises a `ValueError` for what may not be.
Check = Callable[[Any], None]


class Stray(ValueError):
    """A key that the provider's package does not know."""


def _strict(package: str) -> None:
    """Makes the package's dictionaries refuse other keys, and its iterables be looked into (Pydantic leaves them unread)."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(package):
            continue
        for kind in vars(module).values():
            if not is_typeddict(kind) or kind.__module__ != name or "__pydantic_config__" in vars(kind):
                continue
            try:
                hints = typing_extensions.get_type_hints(kind, include_extras=True)
            except NameError:
                continue  # A name that is there for type checkers alone: of no request.
            kind.__annotations__ = {key: _read(hint) for key, hint in hints.items()}
            kind.__pydantic_config__ = ConfigDict(extra="forbid")


def _read(hint: Any) -> Any:
    origin, arguments = get_origin(hint), tuple(_read(argument) for argument in get_args(hint))
    if origin is Iterable:
        return list[arguments]  # type: ignore[valid-type]
    if origin in (Union, types.UnionType):
        return Union[arguments]
    if origin in (Required, typing_extensions.Required, NotRequired, typing_extensions.NotRequired):
        return origin[arguments[0]]
    if origin is Annotated:
        return Annotated[(arguments[0], *hint.__metadata__)]
    if origin in (list, dict):
        return origin[arguments]
    return hint


def _dictionary(kind: Any) -> Check:
    adapter = TypeAdapter(kind)

    def check(body: Any) -> None:
        adapter.validate_python(body)

    return check


def _known(value: Any, said: Any, path: str) -> None:
    """Refuses keys of ``said`` that the model ``value``, made of it, has no field for."""
    if isinstance(value, BaseModel) and isinstance(said, dict):
        fields = type(value).model_fields
        names = {name: name for name in fields}
        names |= {field.alias: name for name, field in fields.items() if field.alias}
        for key, inner in said.items():
            if key not in names:
                raise Stray(f"{path}.{key}: {type(value).__name__} has no such field")
            _known(getattr(value, names[key]), inner, f"{path}.{key}")
    elif isinstance(value, (list, tuple)) and isinstance(said, list):
        for index, (one, inner) in enumerate(zip(value, said, strict=True)):
            _known(one, inner, f"{path}[{index}]")


def _model(kind: Any) -> Check:
    adapter = TypeAdapter(kind)

    def check(body: Any) -> None:
        _known(adapter.validate_python(body), body, "")

    return check


def _function(function: Callable[..., Any]) -> Check:
    """The arguments of a method that makes the request."""
    parameters = inspect.signature(function, eval_str=True).parameters
    checks = {name: _model(each.annotation) for name, each in parameters.items() if name not in ("self", "request_options")}

    def check(body: Body) -> None:
        for name, value in body.items():
            if name == "stream":
                continue
            if name not in checks:
                raise Stray(f".{name}: the method has no such argument")
            checks[name](value)

    return check


def _openai_chat() -> Check:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    _strict("openai.types")
    return _dictionary(CompletionCreateParamsStreaming)


def _openai_responses() -> Check:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    _strict("openai.types")
    return _dictionary(ResponseCreateParamsStreaming)


def _groq() -> Check:
    from groq.types.chat.completion_create_params import CompletionCreateParams

    _strict("groq.types")
    return _dictionary(CompletionCreateParams)


def _anthropic() -> Check:
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming as Beta
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    _strict("anthropic.types")
    plain, beta = _dictionary(MessageCreateParamsStreaming), _dictionary(Beta)

    def check(body: Body) -> None:
        blocks = [block for turn in body["messages"] for block in turn["content"]]
        # What only a request for a beta may say.
        is_beta = "context_management" in body or any(block["type"] in ("compaction", "fallback") for block in blocks)
        (beta if is_beta else plain)(body)

    return check


def _gemini() -> Check:
    from google.genai import types as gemini

    kinds = {
        "contents": list[gemini.Content],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "generationConfig": gemini.GenerationConfig,
    }
    checks = {name: _model(kind) for name, kind in kinds.items()}

    def check(body: Body) -> None:
        for name, value in body.items():
            if name not in checks:
                raise Stray(f".{name}: no such field")
            checks[name](value)

    return check


def _gemini_interactions() -> Check:
    from google.genai._gaos.types.interactions import CreateModelInteraction

    return _model(CreateModelInteraction)


def _mistral() -> Check:
    from mistralai.client.models import ChatCompletionStreamRequest

    return _model(ChatCompletionStreamRequest)


def _cohere() -> Check:
    from cohere.v2.client import V2Client

    return _function(V2Client.chat_stream)


def _ollama() -> Check:
    from ollama._types import ChatRequest, Message

    request, messages = _model(ChatRequest), _model(list[Message])

    def check(body: Body) -> None:
        request(body)
        # The request takes any mapping for a message. A picture is an object there, and its value alone when it is sent.
        messages([each | {"images": [{"value": one} for one in each.get("images", [])]} for each in body["messages"]])

    return check


def _ag_ui() -> Check:
    from ag_ui.core import RunAgentInput

    return _model(RunAgentInput)


def _bedrock_converse() -> Check:
    from botocore.session import get_session
    from botocore.validate import ParamValidator

    operation = get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")

    def check(body: Body) -> None:
        report = ParamValidator().validate(body | {"modelId": "m"}, operation.input_shape)
        if report.has_errors():
            raise Stray(report.generate_report())

    return check


# By provider and format where it has a package of its own, else by the format.
CHECKS: dict[str, Callable[[], Check]] = {
    "groq openai-chat": _groq,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _gemini_interactions,
    "mistral": _mistral,
    "bedrock-converse": _bedrock_converse,
    "cohere": _cohere,
    "ollama": _ollama,
    "ag-ui": _ag_ui,
}
