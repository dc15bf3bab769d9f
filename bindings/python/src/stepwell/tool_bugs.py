"""Exceptions of a tool that are faults of its code, and how they are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

ToolErrors = Literal["hide", "show", "raise"]
"""How an exception in a tool that is no ``ToolError`` is handled.

``hide``: the model learns that the tool failed, and nothing of the exception, which may hold addresses, queries and
passwords. ``show``: the model is shown its type and text. ``raise``: the turn is stopped, and the code that waits for
it gets the exception."""

Watcher = Callable[[str | None, str, BaseException], object]

watchers: list[Watcher] = []
"""Listeners that get each fault, with the address of the agent's provider and the tool's name: the scripted model has
one."""


mocks: list[str] = []
"""The addresses of the scripted models that run: a fault of a tool should fail the test."""


def default_for(base_url: str | None) -> ToolErrors:
    """Returns how exceptions are handled where the app does not say."""
    return "raise" if base_url in mocks else "hide"


def report(base_url: str | None, tool: str, error: BaseException) -> None:
    """Reports a fault."""
    for watcher in list(watchers):
        watcher(base_url, tool, error)


def shown(error: BaseException) -> str:
    """Returns the exception in one line, which the library passes on to the model or hides from it."""
    return f"{type(error).__name__}: {error}"
