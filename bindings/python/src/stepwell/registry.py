"""The owners of threads: which run owns which thread, and which inputs are stale."""

from __future__ import annotations

from ._ffi import stepwell_ffi as _ffi
from ._ffi.calls import RegistryCalls
from ._ffi.registry import *
from .arguments import names_arguments
from .errors import translates


@names_arguments
class RunRegistry(RegistryCalls):
    """The runs of an app: which run owns which thread, what the user looks at, and what is unread. It makes no
    callbacks.

    A thread has at most one owner. Registering a run takes the thread over and makes the previous handle stale: check
    the handle of everything that the run's network, tools and timers bring, and drop what has a stale handle. Every
    call is atomic, from any thread. A call with a stale handle raises ``MisuseError``. For an app with one server and no
    rooms, an id alone names the thread.
    """

    def __init__(self) -> None:
        self._registry: _ffi.RunRegistry = _ffi.RunRegistry()

    @classmethod
    def restore(cls, snapshot: str) -> RunRegistry:
        """Restores a registry from what ``snapshot`` returned."""
        return cls.of(translates(_ffi.RunRegistry.restore)(snapshot))

    @classmethod
    def of(cls, registry: _ffi.RunRegistry) -> RunRegistry:
        """Converts the library's registry to ours."""
        made = cls.__new__(cls)
        made._registry = registry
        return made

    @property
    def inner(self) -> _ffi.RunRegistry:
        """The library's registry."""
        return self._registry
