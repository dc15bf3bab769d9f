"""The key and headers of one request, which the app supplies when needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .arguments import checks_fields


@dataclass(frozen=True)
@checks_fields
class Authorization:
    """The key of one request, and additional headers. They are neither printed nor stored."""

    key: str | None = field(default=None, repr=False)
    """The key, instead of the agent's."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers, which replace the agent's of the same names."""
