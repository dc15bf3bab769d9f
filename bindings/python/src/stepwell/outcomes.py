"""How a turn ends."""

from ._ffi import outcomes as _shapes
from ._ffi.outcomes import *

__all__: list[str] = []
__all__ += _shapes.__all__
