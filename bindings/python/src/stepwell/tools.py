"""Tools: functions of the app that the model may ask for."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import docstrings
from ._record import Json
from .cards import mimebundle_of_tool
from .errors import ToolError
from .schema import Schema, arguments_of, from_json, jsonable, schema_of_function

P = ParamSpec("P")
R = TypeVar("R")


class Parts(list[Mapping[str, Json]]):
    """A tool's result that is more than text: AG-UI content parts, such as pictures::

        return Parts([{"type": "image", "source": {"type": "url", "value": "https://…/cat.png"}}])
    """


class Tool(Generic[P, R]):
    """A function that the model may ask for. It can still be called like the function that it was made from."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Schema | None = None,
        requires_approval: bool = False,
        idempotent: bool = False,
        repeatable: bool = False,
        timeout: float | None = None,
    ) -> None:
        update_wrapper(self, function)
        said = docstrings.parse(inspect.getdoc(function))
        self._function = function
        self._hints = {argument: hint for argument, (hint, _) in arguments_of(function).items()}
        self.name: str = name or str(getattr(function, "__name__", type(function).__name__))
        """What the model calls it by."""
        self.description: str = said.description if description is None else description
        """What it does and when to use it, for the model."""
        self.parameters: Schema = parameters or schema_of_function(function, said.arguments)
        """The JSON Schema of its arguments."""
        self.requires_approval = requires_approval
        """Whether the person must allow each call."""
        self.idempotent = idempotent
        """Whether running it twice does no more than running it once. Only such a tool is run again after a crash."""
        self.repeatable = repeatable
        """Whether asking again with the same arguments makes sense; else the model is told when it goes in a circle."""
        self.timeout = timeout
        """The longest it may take, in seconds; the run's own limit if ``None``."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    async def run(self, arguments: Mapping[str, Json]) -> str | Parts:
        """Runs the tool with arguments from the model, and gives what the model is to see.

        A plain function runs in a thread of its own, so it may block. A result that is no string is written as JSON.
        Arguments that fit the schema but not the types, as a validator may have it, raise ``ToolError``.
        """
        given = {name: self._given(name, value) for name, value in arguments.items()}
        function: Callable[..., Any] = self._function
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            result = await function(**given)
        else:
            result = await asyncio.to_thread(function, **given)
            if inspect.isawaitable(result):
                result = await result
        return result if isinstance(result, Parts) else shown(result)


    def _given(self, name: str, value: Json) -> Any:
        try:
            return from_json(self._hints.get(name, Any), value)
        except (TypeError, ValueError) as error:
            raise ToolError(f"the argument `{name}` does not fit: {error}") from error

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The tool's name, what it does and its arguments, for a notebook."""
        return mimebundle_of_tool(self.name, self.description, self.parameters)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Schema | None = None,
    requires_approval: bool = False,
    idempotent: bool = False,
    repeatable: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Makes a function a tool.

    The JSON Schema of its arguments comes from the type hints, what the model is told of them from the docstring::

        @tool
        async def get_weather(city: str, unit: Literal["C", "F"] = "C") -> str:
            \"\"\"The weather in a city.

            Args:
                city: The city's name.
            \"\"\"

    Both plain and async functions will do, and arguments and results that are dataclasses, enums, or Pydantic's models
    where an app has it. With settings: ``@tool(requires_approval=True)``; ``parameters`` replaces
    the schema.
    """
    if function is None:
        return lambda function: Tool(function, **settings)
    return Tool(function, **settings)


def shown(result: object) -> str:
    """What the model is shown of a result."""
    return result if isinstance(result, str) else json.dumps(jsonable(result), ensure_ascii=False)


def as_tool(function: Tool[..., Any] | Callable[..., Any]) -> Tool[..., Any]:
    """The tool that a function is, or is made."""
    return function if isinstance(function, Tool) else Tool(function)
