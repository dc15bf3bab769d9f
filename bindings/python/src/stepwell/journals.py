"""Journals: the inputs of a run as text, from which it can be replayed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ._ffi import stepwell_ffi as _ffi
from ._record import lift
from ._ffi.journals import *
from .errors import translates

logger = logging.getLogger("stepwell")

JournalSink = Callable[[str, str], object]
"""Takes the journals of an agent's turns: the turn, and complete lines, each as soon as it is known.

It is called on the thread that drives the turn, so it should return quickly. A journal holds the whole conversation,
but no key."""


def replay_journal(journal: str) -> JournalReplay:
    """Replays a journal: the same inputs must lead to the same states, outputs and end.

    A text that is no journal, and a run that differs from its journal, raise ``MisuseError``, which names the place.
    """
    replayed: JournalReplay = lift(translates(_ffi.replay_journal)(journal))
    return replayed


def redact_journal(journal: str) -> str:
    """Returns the journal with its texts hidden, to be sent with a report.

    It keeps the structure of the run: the entries with their times, the states, the names of the outputs and of the
    tools, and the sizes of what is hidden. It cannot be replayed.
    """
    return translates(_ffi.redact_journal)(journal)


class Sink(_ffi.JournalSink):
    """The app's function, as the library calls it."""

    def __init__(self, write: JournalSink) -> None:
        self._write = write

    def write(self, turn: str, lines: str) -> None:
        """Takes lines of a turn's journal."""
        try:
            self._write(turn, lines)
        except Exception:
            logger.warning("lines of a journal were not taken", exc_info=True)
