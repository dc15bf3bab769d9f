"""Tools: functions of the app that the model may ask for."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import math
import threading
import types
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args, overload

from . import docstrings
from ._record import Json
from ._types import DepsIn
from .arguments import checks_arguments
from .cards import mimebundle_of_tool
from .errors import MisuseError, ToolError
from .media import Parts, close_figures, result_of
from .schema import Schema, arguments_of, from_json, schema_of_arguments
from .tool_context import ToolContext, is_context

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")


class Function(Protocol):
    """A function or a method; a ``Tool`` is none, so that a type checker does not take it for a function of any context."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""


class Tool(Generic[P, R, DepsIn]):
    """A function that the model may ask for. It can still be called like the original function.

    A tool made from a method is a method: ``agent = Agent(…, tools=[shop.order])``, where ``order`` of the class
    ``Shop`` is a tool. The model is not asked for ``self``.

    The third type is that of the ``deps`` that the tool wants of its ``ToolContext``, where that is the first parameter.
    """

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: Any) -> Any:
            # Before Python 3.13 a type variable has no default.
            return super().__class_getitem__((*types, Any) if isinstance(types, tuple) and len(types) == 2 else types)

    @checks_arguments
    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Json] | None = None,
        requires_approval: bool = False,
        idempotent: bool = False,
        repeatable: bool = False,
        timeout: float | None = None,
    ) -> None:
        given: Any = function
        self._kind: type = type(given)
        if isinstance(given, (classmethod, staticmethod)):
            function = given.__func__  # type: ignore[assignment]
        if _gives_one_by_one(function):
            raise MisuseError(
                f"{function!r} cannot be a tool: it yields its results one by one", "give a function that returns them all"
            )
        if timeout is not None and not (timeout >= 0 and math.isfinite(timeout)):
            raise MisuseError(f"`timeout` of `Tool` is {timeout!r}", "give a number from 0 on")
        update_wrapper(self, function)
        said = docstrings.parse(inspect.getdoc(function))
        self._function = function
        self._is_bound = True
        self._said = said.arguments
        self._has_own_parameters = parameters is not None
        self._arguments = arguments_of(function, has_schema=self._has_own_parameters)
        contexts = [argument for argument, (hint, _) in self._arguments.items() if is_context(hint)]
        self._contexts = {argument: self._arguments.pop(argument) for argument in contexts}
        self.name: str = str(getattr(function, "__name__", type(function).__name__)) if name is None else name
        """The name that the model calls the tool by."""
        self.description: str = said.description if description is None else description
        """What the tool does and when to use it, for the model."""
        self.parameters: Schema = dict(parameters or {})
        """The JSON Schema of the arguments."""
        if self._kind is classmethod:
            self._take_off_first()
        elif parameters is None:
            self.parameters = schema_of_arguments(self._arguments, self._said)
        self.requires_approval = requires_approval
        """Whether the user must allow each call."""
        self.idempotent = idempotent
        """Whether running the tool twice does no more than running it once. Only such a tool is run again after a
        crash."""
        self.repeatable = repeatable
        """Whether asking again with the same arguments makes sense; a model that repeats another tool's call is
        warned."""
        self.timeout = timeout
        """The longest that the tool may take, in seconds; the run's own limit if ``None``."""

    def __set_name__(self, owner: type, name: str) -> None:
        # A tool made from a function elsewhere, which a class has as an attribute, stays that tool.
        own = f"{owner.__qualname__}.{name}" == getattr(self._function, "__qualname__", "")
        if own and self._kind not in (classmethod, staticmethod):
            self._take_off_first()

    def _take_off_first(self) -> None:
        """Removes the first argument, which is the object of the method."""
        self._is_bound = False
        self._arguments = dict(list(self._arguments.items())[1:])
        if not self._has_own_parameters:
            self.parameters = schema_of_arguments(self._arguments, self._said)

    @overload
    def __get__(self, instance: None, owner: type) -> Tool[P, R]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]: ...

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        if self._kind is classmethod:
            return self._of(instance if owner is None else owner)
        if instance is not None and instance is owner:
            # `@classmethod` over `@tool`, before Python 3.13.
            return self._of_class(owner)
        if instance is None or self._is_bound:
            return self
        return self._of(instance)

    def _of(self, instance: object) -> Tool[..., R]:
        bound = copy.copy(self)
        bound._function = bound.__wrapped__ = types.MethodType(self._function, instance)  # type: ignore[attr-defined]
        bound._is_bound = True
        bound._kind = types.MethodType
        return bound

    def _of_class(self, owner: object) -> Tool[..., R]:
        method = copy.copy(self)
        method._take_off_first()
        return method._of(owner)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    async def run(self, arguments: Mapping[str, Json], context: ToolContext[Any] | None = None) -> str | Parts:
        """Runs the tool with arguments from the model, and returns the result for the model.

        A parameter of the type ``ToolContext`` gets ``context``, or a context without a turn if there is none.

        A plain function runs in its own thread, so it may block. When its result is no longer wanted, after a timeout,
        say, the thread continues by itself, and the end of the program does not wait for it. A result that is no string
        is written as JSON; media are parts, alone or in a list or tuple with others: what ``image`` and the like
        return, PIL images, matplotlib figures. Arguments that fit the schema but not the types, as a validator may have
        it, raise ``ToolError``.
        """
        given = {name: self._given(name, value) for name, value in arguments.items()}
        for name in self._contexts:
            given[name] = ToolContext() if context is None else context
        function: Callable[..., Any] = self._function
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            result = await function(**given)
        else:
            result = await _in_thread(function, given)
            if inspect.isawaitable(result):
                result = await result
        try:
            return result_of(result)
        finally:
            close_figures(result)

    def _given(self, name: str, value: Json) -> Any:
        try:
            return from_json(self._arguments[name][0] if name in self._arguments else Any, value)
        except (TypeError, ValueError) as error:
            raise ToolError(f"the argument `{name}` does not fit: {error}") from error

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Returns the tool's name, description and arguments, for a notebook."""
        return mimebundle_of_tool(self.name, self.description, self.parameters)


class _Anything:
    """Fits only a parameter that takes everything, and so says nothing of its context."""


@overload
def tool(function: Callable[Concatenate[_Anything, P], R], /) -> Tool[..., R]: ...


@overload
def tool(function: Callable[Concatenate[ToolContext[D], P], R], /) -> Tool[Concatenate[ToolContext[D], P], R, D]: ...


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

    A parameter of the type ``ToolContext`` gets the call's context; the model is not asked for it. The JSON Schema of
    the arguments comes from the type hints, their descriptions from the docstring::

        @tool
        async def get_weather(city: str, unit: Literal["C", "F"] = "C") -> str:
            \"\"\"The weather in a city.

            Args:
                city: The city's name.
            \"\"\"

    Plain and async functions can be tools, and methods, which are tools of their object. Arguments and results may be
    of the standard library's common types (dates, ``Decimal``, ``UUID``, enums, dataclasses …), and of types that
    Pydantic can read, if the app has it. A result may be a picture, too: ``image("…")``, a PIL image, a matplotlib
    figure, or a list with some. With settings: ``@tool(requires_approval=True)``.

    Args:
        function: The function.
        name: What the model calls it by; the function's name if left out.
        description: What it does and when to use it, in the place of the docstring's.
        parameters: The JSON Schema of its arguments, in the place of the hints'. With one the function may take
            ``**arguments``, as a function that is made at run time does.
        requires_approval: Whether the user must allow each call.
        idempotent: Whether running it twice does no more than running it once. Only such a tool is run again after a crash.
        repeatable: Whether asking again with the same arguments makes sense.
        timeout: The longest it may take, in seconds; the run's own limit if left out.
    """
    if function is None:
        return lambda function: Tool(function, **settings)
    return Tool(function, **settings)


async def _in_thread(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Calls a function in its own thread: the threads of a pool may all wait for work that only another could do."""
    called: Future[Any] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        called.set_running_or_notify_cancel()
        try:
            result = context.run(function, **given)
        except StopIteration:
            # A future cannot hold this exception: its waiter would wait for ever.
            called.set_exception(RuntimeError("the tool raised StopIteration"))
        except BaseException as error:
            called.set_exception(error)
        else:
            called.set_result(result)

    threading.Thread(target=work, name="stepwell-tool", daemon=True).start()
    return await asyncio.wrap_future(called)


def _gives_one_by_one(function: object) -> bool:
    called = [function, getattr(function, "__call__", None)]
    return any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in called)


def wanted_deps(tool: Tool[..., Any]) -> type | None:
    """Returns the class of the ``deps`` that a tool wants, if its context names one that can be checked."""
    for hint, _ in tool._contexts.values():
        for wanted in get_args(hint):
            if isinstance(wanted, type) and not getattr(wanted, "_is_protocol", False):
                return wanted
    return None


def as_tool(function: Tool[..., Any] | Callable[..., Any]) -> Tool[..., Any]:
    """Returns the tool that a function is, or becomes."""
    if isinstance(function, types.MethodType) and isinstance(function.__func__, Tool):
        # `@classmethod` over `@tool`.
        function = function.__func__._of_class(function.__self__)
    made = function if isinstance(function, Tool) else Tool(function)
    if not made._is_bound:
        raise MisuseError(
            f"the tool `{made._function.__qualname__}` is a method, and of no object",
            "give the method of an object: `tools=[shop.order]`, not `tools=[Shop.order]`",
        )
    return made
