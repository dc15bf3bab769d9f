"""Turns that continue: those that a dead process left, and those that were suspended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from ._engine import Engine
from ._record import lift
from ._types import Out
from .errors import told, translates
from .sessions import SessionStore
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


async def recovered(engine: Engine, store: SessionStore | None, deps: object) -> list[Recovered[Any]]:
    """Revives the unfinished turns of a store."""
    typed = engine.definition.typed
    agent, runner = engine.begin(typed, store, deps=deps)
    runner.is_shared = True
    found = []
    for each in await told(agent.recover()):
        key: TurnKey = lift(each.key)
        turn = None if each.turn is None else Turn[Any](each.turn, runner, typed, engine.definition, of=key.turn)
        found.append(Recovered[Any](key, turn, each.error))
    return found


def revived(
    engine: Engine, store: SessionStore | None, snapshot: str, server: str, room: str, deps: object
) -> Turn[Any]:
    """Continues a stored turn from its snapshot."""
    typed = engine.definition.typed
    agent, runner = engine.begin(typed, store, deps=deps)
    return Turn(translates(agent.revive)(snapshot, server, room), runner, typed, engine.definition)
