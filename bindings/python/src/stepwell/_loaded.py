"""What is set up as soon as the library is loaded."""

from . import _waking as _waking
from . import log as _log
from . import process as process
from ._ffi import stepwell_ffi as _ffi

_log.begin()
_ffi.set_language("Python")
