"""Settings of agents and runs, as types: wherever one is taken, a mapping with its fields does as well."""

from ._ffi import config as _config
from ._ffi.config import *
from ._settings import DropResults, JsonSchema, Summary
from .options import AgentOptions, ModelSettings, RunOptions

__all__ = ["AgentOptions", "DropResults", "JsonSchema", "ModelSettings", "RunOptions", "Summary"]
__all__ += _config.__all__
