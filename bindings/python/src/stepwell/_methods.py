"""Additional methods of the library's shapes, by the names that their generator knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._ffi import stepwell_ffi as _ffi
from ._record import Json, lift, lower

if TYPE_CHECKING:
    from .outcomes import Problem


class ContextOverflowMethods:
    """Methods of ``ContextOverflow``."""

    __slots__ = ()

    def newest(self, part: float) -> list[str]:
        """Returns the ids of the newest messages that fill no more than this part of the room, for ``Trimmed``.

        Half of it, 0.5, leaves room to continue for a while.
        """
        newest: list[str] = _ffi.newest_messages(lower(self), part)
        return newest


class EventMethods:
    """Methods of ``Event``."""

    __slots__ = ()

    def to_json(self) -> dict[str, Json]:
        """Returns the event as JSON: one of AG-UI in AG-UI's form, with its ``type`` in capitals."""
        event: dict[str, Json] = _ffi.event_to_json(lower(self))
        return event


class OutcomeMethods:
    """Methods of ``Outcome``."""

    __slots__ = ()

    @property
    def problem(self) -> Problem | None:
        """What kept the turn from a complete answer; ``None`` if the answer is complete."""
        problem: Problem | None = lift(_ffi.problem_of(lower(self)))
        return problem


class FinishedMethods:
    """Methods of ``Finished``; an app has a ``TurnResult`` instead."""

    __slots__ = ()
