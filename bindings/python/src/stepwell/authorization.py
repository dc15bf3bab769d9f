"""What one request is sent with, where the app gives it as it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .arguments import checks_fields


@dataclass(frozen=True)
@checks_fields
class Authorization:
    """The key of one request, and headers to send besides. They are neither printed nor stored."""

    key: str | None = field(default=None, repr=False)
    """The key, in the place of the agent's."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers, in the place of the agent's of their names."""
