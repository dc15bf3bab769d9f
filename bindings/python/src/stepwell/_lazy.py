"""Loads the library when it is first needed: ``import stepwell`` costs a few milliseconds then, not a quarter of a second.

The generated package ``stepwell._ffi`` is set up without running its ``__init__``, and its module ``stepwell_ffi``, which
opens the library, runs at the first use of one of its names.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

_PACKAGE = f"{__package__}._ffi"
_lock = threading.RLock()


class _LazyModule(ModuleType):
    """A module that runs at the first use of a name that it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        # The import system asks for such names: they are no use of the module.
        if name.startswith("__") and name not in ("__all__", "__dict__"):
            raise AttributeError(name)
        with _lock:
            if not vars(self).get("_has_run"):
                self._has_run = True
                spec = self.__spec__
                assert spec is not None and spec.loader is not None
                spec.loader.exec_module(self)
                importlib.import_module("._loaded", __package__)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


def _prepare(name: str, path: list[str], kind: type[ModuleType]) -> ModuleType | None:
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None:
        return None
    module = kind(name)
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__package__ = spec.parent
    module.__file__ = spec.origin
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    sys.modules[name] = module
    return module


def prepare() -> None:
    """Prepares the package and the module of the library."""
    root = sys.modules[str(__package__)]
    package = _prepare(_PACKAGE, list(root.__path__), ModuleType)
    if package is None:
        return
    setattr(root, "_ffi", package)
    module = _prepare(f"{_PACKAGE}.stepwell_ffi", list(package.__path__), _LazyModule)
    setattr(package, "stepwell_ffi", module)
