"""Which model, from where."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Union

from ._record import Json
from .errors import MisuseError

if TYPE_CHECKING:
    from .authorization import Authorization
    from ._ffi.providers import Provider
    from ._ffi.turns import CredentialRequest

ApiKey = Union[str, "Callable[[CredentialRequest], str | Authorization | Awaitable[str | Authorization]]"]
"""A key, or a function, plain or async, that returns the key of each request, or a key and headers. The function is called
before each request and again after a 401, so it should cache what is still valid. An exception fails the turn."""


@dataclass(frozen=True, init=False)
class Model:
    """Which model, from where: ``Model("openai:gpt-5-mini")``, or ``Model.openai("gpt-5-mini", base_url=…)``.

    Where a model is taken, the string ``"openai:gpt-5-mini"`` does as well. The key is by default that of the provider's
    usual environment variable, such as ``OPENAI_API_KEY``, unless there is a ``base_url``: a key goes to no other server
    than the provider's own by itself.
    """

    provider: str
    """The provider's name, such as ``openai`` or ``openai-compatible``; see ``stepwell.providers``."""
    name: str
    """The model's name; empty where the provider's requests name none."""
    api: str | None
    """Which of the provider's APIs; its usual one if absent."""
    base_url: str | None
    """An address instead of the provider's own; for AG-UI the agent's whole address."""
    api_key: ApiKey | None = field(repr=False)
    """The key, or the function that gives it. It is neither printed nor stored."""
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    """Headers to send in addition to the provider's own."""
    custom_providers: tuple[Mapping[str, Json], ...] = field(repr=False, compare=False)
    """Providers of the app's own, which ``provider`` may name."""
    background: bool
    """Whether the provider makes the answers in the background: an answer goes on while nobody reads it, so it survives a broken
    connection and a restarted process, and is read on where it broke off. The provider stores the conversation and the answer
    for a while. OpenAI's ``responses`` can do so, and is the API then if none is given."""

    def __init__(
        self,
        name: str,
        *,
        provider: str | None = None,
        api: str | None = None,
        base_url: str | None = None,
        api_key: ApiKey | None = None,
        headers: Mapping[str, str] | None = None,
        custom_providers: Sequence[Mapping[str, Json]] = (),
        background: bool = False,
    ) -> None:
        """Names a model.

        Args:
            name: ``"provider:model"``; with ``provider`` only the model's name, in which a colon has no meaning.
            provider: The provider's name.
            api: Which of the provider's APIs, such as ``responses``.
            base_url: An address instead of the provider's own.
            api_key: The key, or a function that gives the key of each request.
            headers: Headers to send in addition to the provider's own.
            custom_providers: Providers of the app's own, each as in the file that ``stepwell --providers`` takes.
            background: Whether the provider makes the answers in the background.
        """
        for what, given in (("name", name), ("provider", provider), ("api", api), ("base_url", base_url)):
            if not isinstance(given, str) and (given is not None or what == "name"):
                raise MisuseError(f"`{what}` of `Model` is of the type {type(given).__name__}", "give a string")
        if api_key is not None and not isinstance(api_key, str) and not callable(api_key):
            raise MisuseError(f"`api_key` of `Model` is of the type {type(api_key).__name__}", "give a string or a function")
        if provider is None:
            provider, colon, name = name.partition(":")
            if not colon or not provider:
                raise MisuseError(
                    f"{provider!r} names no provider", 'write "provider:model", such as "openai:gpt-5-mini", or `Model.openai("…")`'
                )
        values: dict[str, Any] = {
            "provider": provider,
            "name": name,
            "api": api,
            "base_url": base_url,
            "api_key": api_key,
            "headers": tuple((headers or {}).items()),
            "custom_providers": tuple(custom_providers),
            "background": background,
        }
        for each, value in values.items():
            object.__setattr__(self, each, value)

    @classmethod
    def of(cls, model: Model | str) -> Model:
        """Returns the model that a string names, or the model itself."""
        if isinstance(model, Model):
            return model
        if not isinstance(model, str):
            raise MisuseError(f"the model is of the type {type(model).__name__}", 'give a `Model`, or a string like "openai:gpt-5-mini"')
        return cls(model)

    @staticmethod
    def providers(custom: Sequence[Mapping[str, Json]] = ()) -> list[Provider]:
        """Returns the providers that a model may be of, with their APIs and the variables of their keys."""
        from .providers import providers

        return providers({"providers": list(custom)} if custom else None)

    @classmethod
    def openai(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        api: Literal["chat", "responses"] | None = None,
        headers: Mapping[str, str] | None = None,
        background: bool = False,
    ) -> Model:
        """One of OpenAI's models."""
        return cls(name, provider="openai", base_url=base_url, api_key=api_key, headers=headers, api=api, background=background)

    @classmethod
    def openrouter(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        api: Literal["chat", "responses", "messages"] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models that OpenRouter offers."""
        return cls(name, provider="openrouter", base_url=base_url, api_key=api_key, headers=headers, api=api)

    @classmethod
    def anthropic(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of Anthropic's models."""
        return cls(name, provider="anthropic", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def gemini(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        api: Literal["generateContent", "interactions"] | None = None,
        headers: Mapping[str, str] | None = None,
        background: bool = False,
    ) -> Model:
        """One of Google's Gemini models."""
        return cls(name, provider="gemini", base_url=base_url, api_key=api_key, headers=headers, api=api, background=background)

    @classmethod
    def mistral(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of Mistral's models."""
        return cls(name, provider="mistral", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def cohere(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of Cohere's models."""
        return cls(name, provider="cohere", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def groq(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models that Groq runs."""
        return cls(name, provider="groq", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def together(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models that Together AI runs."""
        return cls(name, provider="together", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def fireworks(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models that Fireworks AI runs."""
        return cls(name, provider="fireworks", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def nvidia(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models that NVIDIA runs."""
        return cls(name, provider="nvidia", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def ollama(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        api: Literal["ollama-chat", "chat"] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models of an Ollama server, by default the one on this machine."""
        return cls(name, provider="ollama", base_url=base_url, api_key=api_key, headers=headers, api=api)

    @classmethod
    def azure(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        api: Literal["chat", "responses"] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """A deployment of a resource of Azure OpenAI: ``base_url`` is the resource, by default that of the environment
        variable ``AZURE_OPENAI_ENDPOINT``, in the version of ``OPENAI_API_VERSION`` if that is set. The key may be a token
        of Entra ID."""
        return cls(name, provider="azure", base_url=base_url, api_key=api_key, headers=headers, api=api)

    @classmethod
    def vertex(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models of Google's Vertex AI: ``base_url`` is ``projects/PROJECT/locations/LOCATION``, by default of
        the environment variables ``GOOGLE_CLOUD_PROJECT`` and ``GOOGLE_CLOUD_LOCATION``. The key is an OAuth token."""
        return cls(name, provider="vertex", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def bedrock(
        cls,
        name: str,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """One of the models of Amazon Bedrock, by its id or ARN: ``base_url`` is a region such as ``eu-central-1``, by
        default that of the environment variable ``AWS_REGION`` or ``AWS_DEFAULT_REGION``. The key is a Bedrock API key,
        by default ``AWS_BEARER_TOKEN_BEDROCK``; requests without one are signed with ``AWS_ACCESS_KEY_ID``,
        ``AWS_SECRET_ACCESS_KEY`` and ``AWS_SESSION_TOKEN``."""
        return cls(name, provider="bedrock", base_url=base_url, api_key=api_key, headers=headers)

    @classmethod
    def openai_compatible(
        cls,
        name: str,
        *,
        base_url: str,
        api_key: ApiKey | None = None,
        api: Literal["chat", "responses"] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Model:
        """A model of a server that speaks OpenAI's format: vLLM, llama.cpp, LM Studio and many others."""
        return cls(name, provider="openai-compatible", base_url=base_url, api_key=api_key, headers=headers, api=api)

    @classmethod
    def ag_ui(
        cls, base_url: str, *, api_key: ApiKey | None = None, headers: Mapping[str, str] | None = None
    ) -> Model:
        """An AG-UI agent at this address."""
        return cls("", provider="ag-ui", base_url=base_url, api_key=api_key, headers=headers)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.name, self.provider, self.api, self.base_url, self.api_key, dict(self.headers), self.custom_providers)

    def key_and_source(self) -> tuple[str | None, Callable[..., Any] | None]:
        """Returns the key, or the function that gives it."""
        if callable(self.api_key):
            return None, self.api_key
        if self.api_key is not None or self.base_url is not None:
            return self.api_key, None
        return os.environ.get(_variable_of(self.provider, self.custom_providers) or "") or None, None


def _again(
    name: str,
    provider: str,
    api: str | None,
    base_url: str | None,
    api_key: ApiKey | None,
    headers: Mapping[str, str],
    custom_providers: Sequence[Mapping[str, Json]],
) -> Model:
    """Makes an unpickled model."""
    return Model(
        name,
        provider=provider,
        api=api,
        base_url=base_url,
        api_key=api_key,
        headers=headers,
        custom_providers=custom_providers,
    )


@lru_cache(maxsize=1)
def _variables() -> dict[str, str]:
    from .providers import providers

    return {provider.name: provider.key_variable for provider in providers()}


def _variable_of(provider: str, custom: Sequence[Mapping[str, Json]]) -> str | None:
    """Returns the environment variable that usually holds the provider's key."""
    for each in custom:
        if each.get("name") == provider:
            named = each.get("key_variable")
            return str(named) if named else None
    return _variables().get(provider)
