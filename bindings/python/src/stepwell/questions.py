"""Approvals that wait for a click where their turn is shown."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .effects import ToolInvocation

if TYPE_CHECKING:
    from .runner import Decision

logger = logging.getLogger("stepwell")


class Question:
    """One approval that the user is asked for."""

    _numbers = itertools.count(1)

    def __init__(self, invocation: ToolInvocation) -> None:
        self.number = next(self._numbers)
        self.invocation = invocation
        self._answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()

    def decide(self, decision: Decision) -> None:
        """Takes the user's decision, from any thread. The first decision counts."""
        self._answer.get_loop().call_soon_threadsafe(self._decide, decision)

    def _decide(self, decision: Decision) -> None:
        if not self._answer.done():
            self._answer.set_result(decision)

    async def answer(self) -> Decision:
        """Waits for the user."""
        return await self._answer


class Questions:
    """The questions of a turn. ``changed`` is called when a question comes or goes."""

    def __init__(self) -> None:
        self._open: dict[int, Question] = {}
        self.changed: Callable[[], None] | None = None

    def open(self) -> list[Question]:
        """The questions without an answer, the oldest first."""
        return list(self._open.values())

    async def ask(self, invocation: ToolInvocation) -> Decision:
        """Asks the user whether a tool may run."""
        question = Question(invocation)
        self._open[question.number] = question
        if self.changed is None:
            logger.warning("%s waits to be allowed: `show` the turn", invocation.name)
        self._say()
        try:
            return await question.answer()
        finally:
            del self._open[question.number]
            self._say()

    def _say(self) -> None:
        if self.changed is not None:
            self.changed()


asking: ContextVar[Questions | None] = ContextVar("stepwell_asking", default=None)
"""The questions of the turn whose approver is called."""


async def ask_in_notebook(invocation: ToolInvocation) -> Decision:
    """An approver that asks in the notebook where the turn is shown: ``Agent(…, approver=ask_in_notebook)``.

    The tool's card there has buttons to run the tool, to run it with other arguments, and to deny it. Without a
    notebook with widgets the call is denied, with the reason.
    """
    questions = asking.get()
    if questions is None or not has_widgets():
        return "there is no notebook with widgets here to ask the user in: pip install 'stepwell[notebook]'"
    return await questions.ask(invocation)


def in_notebook() -> bool:
    """Returns whether a Jupyter kernel runs this; IPython's shell in a terminal takes plain lines."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def has_widgets() -> bool:
    """Returns whether a notebook that can have widgets runs this."""
    return in_notebook() and importlib.util.find_spec("anywidget") is not None
