"""The library's agent below an agent: what touches it is here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._ffi import stepwell_ffi as _ffi
from .errors import MisuseError, translates
from .process import OwnProcess

if TYPE_CHECKING:
    from ._definition import Definition
    from .output import TypedOutput
    from .runner import TurnRunner
    from .sessions import SessionStore
    from .tools import Tool


class Engine:
    """The library's agent of a definition. It is made when it is first needed, and again in a forked process."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._made: _ffi.Agent | None = None
        self._process = OwnProcess("agent")
        self._lock = threading.Lock()

    def agent(self, store: SessionStore | None = None) -> _ffi.Agent:
        """Returns the library's agent in this process, with its conversations in this store."""
        with self._lock:
            if self._made is None or not self._process.is_here():
                self._process = OwnProcess("agent")
                # What needs no store works in a forked process, too, where an earlier store cannot be used.
                own = self.definition.store
                config, setup = self.definition.lowered(own if own is not None and own.is_here() else None)
                self._made = translates(_ffi.Agent.for_runners)(config, setup)
            made = self._made
        return made if store is None else made.with_store(store.inner)

    def begin(
        self,
        typed: TypedOutput | None,
        store: SessionStore | None = None,
        *,
        tools: Sequence[Tool[..., Any]] = (),
        deps: object = None,
    ) -> tuple[_ffi.Agent, TurnRunner]:
        """Returns the agent for a turn that begins now: its tools, approvals and the calls of an app's store run on the
        current event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise MisuseError(
                "no event loop of asyncio runs here", "call it in a coroutine, or take the method whose name ends in `_sync`"
            ) from None
        definition, agent = self.definition, self.agent(store)
        runner = definition.runner(loop, typed, tools, deps)
        own = definition.typed
        if typed is not None and typed is not own and not (typed.is_text and (own is None or own.is_text)):
            agent = translates(agent.with_output)(typed.asked.lower(), None)
        there = None if store is None else store.on(loop)
        return agent.with_runner(runner, definition.duties(), there), runner
