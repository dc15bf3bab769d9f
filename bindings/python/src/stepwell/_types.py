"""The type variables of agents and tools: ``Agent`` alone is ``Agent[None, str]``, and ``Tool[P, R]`` takes any ``deps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=None)
    Out = TypeVar("Out", default=str)
    DepsIn = TypeVar("DepsIn", contravariant=True, default=Any)
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")
    Out = TypeVar("Out")
    DepsIn = TypeVar("DepsIn", contravariant=True)

__all__ = ["Deps", "DepsIn", "Out"]
