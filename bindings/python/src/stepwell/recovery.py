"""Turns that a dead process left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from ._engine import Engine, Thread
from ._record import lift
from ._types import Out
from .errors import told
from .stores import TurnKey
from .turn import Turn



@dataclass(frozen=True)
class Recovered(Generic[Out]):
    """An unfinished turn of the store that an agent revives."""

    key: TurnKey
    """The key of the turn; ``agent.conversation(key.thread)`` returns its conversation."""
    turn: Turn[Out] | None
    """The turn under way; releasing the turn cancels it, unless it was detached. ``None`` if the turn cannot
    continue."""
    error: str | None
    """Why the turn cannot continue. It stays unfinished in the store, until a message is sent in its conversation."""


async def recovered(engine: Engine) -> list[Recovered[Any]]:
    """Revives the unfinished turns of an engine's store."""
    typed = engine.definition.typed
    agent, runner = engine.begin(engine.agent(), typed)
    runner.is_shared = True
    found = []
    for each in await told(agent.recover()):
        key: TurnKey = lift(each.key)
        turn = None
        if each.turn is not None:
            turn = Turn[Any](each.turn, runner, typed, Thread(engine, key.thread), of=key.turn)
        found.append(Recovered[Any](key, turn, each.error))
    return found
