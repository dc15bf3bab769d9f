"""The providers that a configuration may name."""

from __future__ import annotations

import json
from collections.abc import Mapping

from . import _ffi
from ._record import Json, Record, lift, lifts, record
from .errors import translates


@record
class Capabilities(Record):
    """What an API can do as far as it goes; a model behind it may do less."""

    streaming: bool
    """It streams its answers."""
    tools: bool
    """It takes tools."""
    parallel_tools: bool
    """The model may ask for several tools at once."""
    call_ids: bool
    """It gives each call an id."""
    reasoning: bool
    """It shows what the model thinks."""
    reasoning_return: bool
    """It takes that back with the next request, so that the model can go on with its thought."""
    images: bool
    """It takes pictures."""
    audio: bool
    """It takes sound."""
    documents: bool
    """It takes documents, such as PDF files."""
    structured_output: bool
    """It holds the answer to a JSON Schema."""
    cache_marks: bool
    """It takes marks for its prompt cache."""
    usage: bool
    """It counts tokens in the stream."""
    model: bool
    """Requests name a model."""


@record
class Api(Record):
    """One of a provider's APIs."""

    name: str
    """Its name, for ``api``."""
    dialect: str
    """The wire format it speaks."""
    base_url: str | None
    """Its address; none where everyone runs their own, and ``base_url`` is needed."""
    capabilities: Capabilities
    """What it can do."""


@record
class Provider(Record):
    """Someone who answers requests."""

    name: str
    """Its name, for ``provider``."""
    apis: list[Api]
    """Its APIs; never empty."""
    default_api: str
    """The API that is used where none is asked for."""
    key_variable: str
    """The environment variable that holds its key by custom. Stepwell reads no environment by itself."""
    needs_key: bool
    """Whether it refuses requests without a key."""


@record
class ContextWindow(Record):
    """What a model takes and gives, in tokens."""

    window: int
    """The most of question and answer together."""
    output: int | None
    """The most of an answer; none where the vendor names none."""


for _generated, _ours in (
    (_ffi.Capabilities, Capabilities),
    (_ffi.Api, Api),
    (_ffi.Provider, Provider),
    (_ffi.ContextWindow, ContextWindow),
):
    lifts(_generated, _ours)


def providers(own: Mapping[str, Json] | None = None) -> list[Provider]:
    """The providers, those of the app's own among them: an object whose ``providers`` is a list."""
    listed: list[Provider] = lift(translates(_ffi.providers)(None if own is None else json.dumps(own)))
    return listed


def context_window(provider: str, model: str) -> ContextWindow | None:
    """What a model takes and gives, if its vendor says so."""
    found: ContextWindow | None = lift(_ffi.context_window(provider, model))
    return found
