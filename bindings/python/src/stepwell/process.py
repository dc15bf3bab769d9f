"""Objects that belong to one process: a forked process has none of their threads, and they must not be copied."""

from __future__ import annotations

import atexit
import os
import threading
from typing import NoReturn

from ._ffi import stepwell_ffi as _ffi
from .errors import MisuseError, StepwellError

# A thread that calls into Python during the interpreter's shutdown would crash the process.
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
    """Checks whether an object is still in the process that created it: a forked process has the object, but none of
    its threads.

    Before a fork Stepwell's threads become idle, so that none of them holds a lock in the child, which starts threads
    of its own. If a thread stays busy with the app's code, every call in the child is refused.
    """

    _is_at_rest = True
    _is_broken = False

    def __init__(self, what: str) -> None:
        if OwnProcess._is_broken:
            raise StepwellError(
                "the process was forked while a thread of Stepwell's was busy with code of the app, which holds what it locked",
                "fork before the first turn, or begin the process anew, as multiprocessing's `spawn` does",
            )
        self._what = what
        self._process = os.getpid()

    def is_here(self) -> bool:
        """Returns whether this is the process."""
        return os.getpid() == self._process

    def check(self) -> None:
        """Raises ``StepwellError`` in another process."""
        if not self.is_here():
            raise StepwellError(
                f"this {self._what} was made before the process was forked: its threads and connections are the other's",
                f"make the {self._what} in this process",
            )

    @staticmethod
    def _before_fork() -> None:
        OwnProcess._is_at_rest = OwnProcess._is_broken or _ffi.before_fork()

    @staticmethod
    def _after_fork_in_parent() -> None:
        if OwnProcess._is_at_rest and not OwnProcess._is_broken:
            _ffi.after_fork_in_parent()

    @staticmethod
    def _after_fork_in_child() -> None:
        if OwnProcess._is_broken or not OwnProcess._is_at_rest:
            OwnProcess._is_broken = True
            atexit.unregister(_ffi.shutdown)
            return
        _ffi.after_fork_in_child()
        # Another thread of Python's may have been about to look something up.
        for kind in (_ffi, *vars(_ffi).values()):
            for each in list(getattr(kind, "__dict__", {}).values()):
                if isinstance(each, _ffi._UniffiHandleMap):
                    each._lock = threading.Lock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=OwnProcess._before_fork,
        after_in_parent=OwnProcess._after_fork_in_parent,
        after_in_child=OwnProcess._after_fork_in_child,
    )
