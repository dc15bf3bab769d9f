"""Answers of a type of the app."""

from __future__ import annotations

import re
import types
import typing
from typing import TYPE_CHECKING, Any, Literal, Union

from . import scalars
from ._record import Json
from .schema import from_json, own_doc, schema_of

if TYPE_CHECKING:
    from .outcomes import Finished
    from .result import TurnResult

LONGEST = 64


class TypedOutput:
    """The type of an answer: the request to the model, and the code that reads the answer."""

    def __init__(self, hint: Any) -> None:
        from .config import OutputType

        if isinstance(hint, (list, tuple)):
            # `[Trip, str]`, as others write a union.
            hint = Union[tuple(hint)]
        self._hint = hint
        self.is_text: bool = hint is str
        """Whether the answer is plain text, the model's usual answer: nothing is requested then."""
        if isinstance(hint, OutputType):
            # A JSON Schema: the answer stays JSON.
            self.asked = hint
            return
        # Python's description of `Decimal` is of no use to a model.
        is_apps_own = isinstance(hint, type) and scalars.of_type(hint) is None and hint.__module__ != "builtins"
        description = own_doc(hint) if is_apps_own else ""
        self.asked = OutputType(
            name=_name(hint), schema=schema_of(hint, "`output_type`"), description=description or None, decoded_by_host=True
        )
        """The request to the model."""

    def read(self, value: Json) -> Any:
        """Returns the value of the type; raises ``TypeError`` or ``ValueError`` with what does not fit."""
        return value if self._hint is self.asked else from_json(self._hint, value)

    def result(self, finished: Finished) -> TurnResult[Any]:
        """Returns the turn with its answer as a value of the type."""
        from .result import result_of

        if finished.output is None:
            return result_of(finished, None, is_text=self.is_text)
        return result_of(finished, self.read(finished.output), is_text=False)


def _name(hint: Any) -> str:
    """Returns the name of a type for the model: letters, digits, ``_`` and ``-``."""
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
