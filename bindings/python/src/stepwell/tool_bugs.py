"""What a tool raised that is a fault of its code: who is told of it, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

ToolErrors = Literal["hide", "show", "raise"]
"""What becomes of an exception in a tool that is no ``ToolError``.

``hide``: the model is told that the tool failed, and nothing of the exception, which may hold addresses, queries and
passwords. ``show``: the model is shown its type and text. ``raise``: the turn is stopped, and whoever waits for it gets the
exception."""

HIDDEN = "the tool failed because of an internal error"
"""What the model is told where the exception is hidden."""

Watcher = Callable[[str | None, str, BaseException], object]

watchers: list[Watcher] = []
"""Are told of each fault, with the address of the agent's provider and the tool's name: the scripted model has its own."""


def report(base_url: str | None, tool: str, error: BaseException) -> None:
    """Tells of a fault."""
    for watcher in list(watchers):
        watcher(base_url, tool, error)


def shown(error: BaseException) -> str:
    """The exception in one line."""
    return f"{type(error).__name__}: {error}"
