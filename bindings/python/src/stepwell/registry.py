"""Many runs at once: which run owns which thread, and which inputs come too late."""

from __future__ import annotations

from ._ffi import stepwell_ffi as _ffi
from ._ffi.calls import RegistryCalls
from ._ffi.registry import *
from .arguments import names_arguments
from .errors import translates


@names_arguments
class RunRegistry(RegistryCalls):
    """Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.

    A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
    whatever the run's network, tools and timers bring, and drop what comes with a stale one. Every call is one step that
    no other call comes between, from any thread. A call with a stale handle raises ``StaleError``. A mere id names the
    thread of an app that has one server and no rooms.
    """

    def __init__(self) -> None:
        self._registry: _ffi.RunRegistry = _ffi.RunRegistry()

    @classmethod
    def restore(cls, snapshot: str) -> RunRegistry:
        """A registry that was stored: what ``snapshot`` gave."""
        return cls.of(translates(_ffi.RunRegistry.restore)(snapshot))

    @classmethod
    def of(cls, registry: _ffi.RunRegistry) -> RunRegistry:
        """The library's registry as one of ours."""
        made = cls.__new__(cls)
        made._registry = registry
        return made

    @property
    def inner(self) -> _ffi.RunRegistry:
        """The library's registry."""
        return self._registry
