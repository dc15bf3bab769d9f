"""The settings that each provider has by another name: ``top_p``, ``stop`` and ``seed``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ._record import Json
from .errors import MisuseError

if TYPE_CHECKING:
    from .model import Model

SAMPLING = ("top_p", "stop", "seed")
"""The settings."""

_CHAT = {"top_p": "top_p", "stop": "stop", "seed": "seed"}

_NAMES: dict[str, dict[str, str]] = {
    "openai-chat": _CHAT,
    "openai-responses": {"top_p": "top_p"},
    "anthropic": {"top_p": "top_p", "stop": "stop_sequences"},
    "gemini": {"top_p": "topP", "stop": "stopSequences", "seed": "seed"},
    "gemini-interactions": {"top_p": "top_p", "stop": "stop_sequences", "seed": "seed"},
    "mistral": {**_CHAT, "seed": "random_seed"},
    "cohere": {"top_p": "p", "stop": "stop_sequences", "seed": "seed"},
    "ollama": _CHAT,
}
"""The names of each wire format; a setting without a name is one that the format lacks."""

_IN_BACKGROUND = {"openai-responses", "gemini-interactions"}
"""The wire formats with answers in the background."""

_WITHIN = {"gemini": "generationConfig", "gemini-interactions": "generation_config", "ollama": "options"}
"""The field of the body that holds the settings, where they are not in the body itself."""


def with_sampling(plain: Mapping[str, Any], model: Model) -> dict[str, Json]:
    """Returns the fields for the request's body: ``extra``, and these settings by the provider's names."""
    extra = dict(plain.get("extra", {}))
    given = {name: plain[name] for name in SAMPLING if name in plain}
    if not given:
        return extra
    format = _format_of(model.provider, model.api, model.background) if not model.custom_providers else "openai-chat"
    names = _NAMES.get(format, {})
    fields: dict[str, Json] = {}
    for name, value in given.items():
        if name not in names:
            raise MisuseError(f"the API of {model} has no `{name}`", "leave it out, or use another model or API")
        fields[names[name]] = [value] if name == "stop" and isinstance(value, str) else value
        if name == "stop" and not isinstance(value, str):
            fields[names[name]] = list(value)
    if within := _WITHIN.get(format):
        return extra | {within: {**fields, **extra.get(within, {})}}
    return fields | extra


@lru_cache(maxsize=64)
def _format_of(provider: str, api: str | None, background: bool) -> str:
    """Returns the wire format of a provider's API; without a name that of its default, or of the one with answers in the background."""
    from .providers import providers

    for each in providers():
        if each.name == provider:
            for one in each.apis:
                is_asked = one.dialect in _IN_BACKGROUND if background and not api else one.name == (api or each.default_api)
                if is_asked:
                    return one.dialect
    return "openai-chat"
