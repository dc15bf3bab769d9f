"""What belongs to one process: a fork has it, but none of its threads, and a copy of it must not be made."""

from __future__ import annotations

import atexit
import os
from typing import NoReturn

from ._ffi import stepwell_ffi as _ffi
from .errors import MisuseError, UnavailableError

# A thread that calls into Python while the interpreter is taken down would take the process with it.
atexit.register(_ffi.shutdown)




def _refuse(thing: object, protocol: object) -> NoReturn:
    raise MisuseError(
        f"this {type(thing).__name__} belongs to this process: it can neither be copied nor pickled",
        "make another one, in the process that is to have it",
    )


for _kind in vars(_ffi).values():
    if hasattr(_kind, "_uniffi_clone_handle"):
        # A copy would have the same handle, and both would free it.
        _kind.__reduce_ex__ = _refuse


class OwnProcess:
    """Says whether something still is in the process that it was made in: a fork has it, but none of its threads.

    What the threads held locked stays locked in a fork, so one of a process in which Stepwell was at work is refused at
    once whatever it asks for.
    """

    _is_at_work = False
    _comes_from_work = False

    def __init__(self, what: str) -> None:
        if OwnProcess._comes_from_work:
            raise UnavailableError(
                "Stepwell was at work before the process was forked, and its threads are the other's",
                "fork before the first turn, or begin the process anew, as multiprocessing's `spawn` does",
            )
        self._what = what
        self._process = os.getpid()

    def check(self) -> None:
        """Raises ``UnavailableError`` in another process."""
        if os.getpid() != self._process:
            raise UnavailableError(
                f"this {self._what} was made before the process was forked: its threads and connections are the other's",
                f"make the {self._what} in this process",
            )

    def begin(self) -> None:
        """The same, before what begins threads."""
        self.check()
        OwnProcess._is_at_work = True

    @staticmethod
    def _after_fork() -> None:
        if OwnProcess._is_at_work:
            OwnProcess._comes_from_work = True
            atexit.unregister(_ffi.shutdown)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=OwnProcess._after_fork)
