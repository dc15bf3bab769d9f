"""What a run begins with."""

from __future__ import annotations

from typing import TypeAlias, Union

from .media import Content
from .messages import UserMessage

Prompt: TypeAlias = Union[Content, UserMessage, None]
"""A text, a part that ``image`` and the like made, or a ``UserMessage``. With ``None`` the turn continues from a history
whose last message the model should answer."""
