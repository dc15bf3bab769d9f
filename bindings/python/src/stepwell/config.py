"""How a run is set up."""

from ._settings import DropResults, JsonSchema, Summary
from ._ffi import config as _shapes
from ._ffi.config import *

__all__ = ["DropResults", "JsonSchema", "Summary"]
__all__ += _shapes.__all__
