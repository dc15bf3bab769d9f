"""How a run is set up."""

from ._settings import JsonSchema
from ._ffi import config as _shapes
from ._ffi.config import *

__all__ = ["JsonSchema"]
__all__ += _shapes.__all__
