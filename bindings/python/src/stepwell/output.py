"""Answers that are of a type of the app's."""

from __future__ import annotations

import re
import types
import typing
from typing import Any, Union

from ._record import Json
from .config import OutputType
from .schema import from_json, own_doc, schema_of

LONGEST = 64


class TypedOutput:
    """The type of an answer: what the model is asked for, and what reads the answer."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        description = own_doc(hint) if isinstance(hint, type) else ""
        self.asked = OutputType(
            name=_name(hint), schema=schema_of(hint, "`output_type`"), description=description or None, decoded_by_host=True
        )
        """What the model is asked for."""

    def read(self, value: Json) -> Any:
        """The value of the type; raises ``TypeError`` or ``ValueError`` with what does not fit."""
        return from_json(self._hint, value)


def _name(hint: Any) -> str:
    """What the model is told that a type is called: letters, digits, ``_`` and ``-``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _name(arguments[0])
    if origin in (Union, types.UnionType):
        text = "_or_".join(_name(argument) for argument in arguments)
    elif origin is not None:
        text = "_".join([getattr(origin, "__name__", "Answer"), *(_name(each) for each in arguments if each is not ...)])
    else:
        text = getattr(hint, "__name__", "Answer")
    return re.sub("[^A-Za-z0-9_-]+", "_", text).strip("_")[:LONGEST] or "Answer"
