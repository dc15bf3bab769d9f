"""The providers that a configuration may name."""

from __future__ import annotations

from collections.abc import Mapping

from ._ffi import stepwell_ffi as _ffi
from ._record import Json, lift
from ._ffi.providers import *
from .config import LongContextPrice, ModelPrice
from .errors import translates


def providers(own: Mapping[str, Json] | None = None) -> list[Provider]:
    """Returns the providers, including the custom ones in ``own``: an object whose ``providers`` is a list."""
    listed: list[Provider] = lift(translates(_ffi.providers)(own))
    return listed


def context_window(provider: str, model: str) -> ContextWindow | None:
    """Returns the context window of a model, if its vendor publishes it."""
    found: ContextWindow | None = lift(_ffi.context_window(provider, model))
    return found


def model_price(provider: str, model: str) -> ModelPrice | None:
    """Returns the list price of a model in US dollars, if Stepwell's table of prices has it."""
    found = _ffi.model_price(provider, model)
    if found is None:
        return None
    given = dict(vars(found))
    if found.long_context is not None:
        given["long_context"] = LongContextPrice(**vars(found.long_context))
    return ModelPrice(**given)
