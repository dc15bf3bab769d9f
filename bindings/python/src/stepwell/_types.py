"""The type variables of agents: ``Agent`` alone is ``Agent[None, str]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=None)
    Out = TypeVar("Out", default=str)
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")
    Out = TypeVar("Out")

__all__ = ["Deps", "Out"]
