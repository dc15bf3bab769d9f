"""Answers that are of a type of the app's."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from typing import Any, Literal, Union

from . import scalars
from ._record import Json
from .config import OutputType
from .outcomes import Finished, Success
from .schema import from_json, own_doc, schema_of

LONGEST = 64


class TypedOutput:
    """The type of an answer: what the model is asked for, and what reads the answer."""

    def __init__(self, hint: Any) -> None:
        if isinstance(hint, (list, tuple)):
            # `[Trip, str]`, as others write a union.
            hint = Union[tuple(hint)]
        self._hint = hint
        self.is_text: bool = hint is str
        """Whether it is plain text, as the model answers anyway: it is asked for nothing then."""
        # What Python says of `Decimal` is of no use to a model.
        is_apps_own = isinstance(hint, type) and scalars.of_type(hint) is None and hint.__module__ != "builtins"
        description = own_doc(hint) if is_apps_own else ""
        self.asked = OutputType(
            name=_name(hint), schema=schema_of(hint, "`output_type`"), description=description or None, decoded_by_host=True
        )
        """What the model is asked for."""

    def read(self, value: Json) -> Any:
        """The value of the type; raises ``TypeError`` or ``ValueError`` with what does not fit."""
        return from_json(self._hint, value)

    def finish(self, finished: Finished) -> Finished:
        """The turn with its answer as a value of the type."""
        if self.is_text and finished.output is None and isinstance(finished.outcome, Success):
            return dataclasses.replace(finished, output=_last_text(finished))
        if finished.output is None:
            return finished
        return dataclasses.replace(finished, output=self.read(finished.output))


def _last_text(finished: Finished) -> str:
    """What the model said in its last message."""
    messages = [message for message in finished.messages if message["role"] == "assistant"]
    return str(messages[-1].get("content") or "") if messages else ""


def _name(hint: Any) -> str:
    """What the model is told that a type is called: letters, digits, ``_`` and ``-``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _name(arguments[0])
    if origin in (Union, types.UnionType):
        text = "_or_".join(_name(argument) for argument in arguments)
    elif origin is Literal:
        text = "Choice"
    elif origin is not None:
        text = "_".join([getattr(origin, "__name__", "Answer"), *(_name(each) for each in arguments if each is not ...)])
    else:
        text = getattr(hint, "__name__", "Answer")
    return re.sub("[^A-Za-z0-9_-]+", "_", text).strip("_")[:LONGEST] or "Answer"
