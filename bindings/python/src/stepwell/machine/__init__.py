"""The machine without IO: the app owns the network, the tools, the clock and the store.

    from stepwell.machine import RunConfig, RunMachine

    machine = RunMachine(RunConfig(provider="openai", model="gpt-5-mini", key=key))
    outputs = machine.start("Hi")

``RunMachine`` is one turn, and ``RunRegistry`` says which turn owns which thread. Both take bytes and events of the app's own
host, and give events to show and effects to carry out.
"""

from .._ffi import config as _config
from .._ffi import effects as _effects
from .._ffi import events as _events
from .._ffi import machine as _machine
from .._ffi import outcomes as _outcomes
from .._ffi import registry as _registry
from .._ffi.config import *
from .._ffi.effects import *
from .._ffi.events import *
from .._ffi.machine import *
from .._ffi.outcomes import *
from .._ffi.registry import *
from .._ffi.turns import NewRun
from .._settings import DropResults, JsonSchema, Summary
from ..journals import JournalReplay, JournalSink, redact_journal, replay_journal
from ..registry import RunRegistry
from ..sessions import conversation_of, session_view
from .options import TurnOptions
from .run import RunMachine

__all__ = [
    "DropResults",
    "JournalReplay",
    "JournalSink",
    "JsonSchema",
    "NewRun",
    "RunMachine",
    "RunRegistry",
    "Summary",
    "TurnOptions",
    "conversation_of",
    "redact_journal",
    "replay_journal",
    "session_view",
]
__all__ += _config.__all__
__all__ += _effects.__all__
__all__ += _events.__all__
__all__ += _machine.__all__
__all__ += _outcomes.__all__
__all__ += _registry.__all__
