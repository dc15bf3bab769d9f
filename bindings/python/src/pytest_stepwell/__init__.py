"""The pytest plug-in of Stepwell: the fixture ``mock_llm``.

A package of its own, so that a test run that has no use for it does not load Stepwell's library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from stepwell.testing import Hop, MockLlm


class StartMockLlm(Protocol):
    """What the fixture ``mock_llm`` gives; for type hints."""

    def __call__(self, *hops: Hop, repeat: bool | None = None) -> MockLlm:
        """Starts a model with this script; without hops it plays the secret numbers."""


@pytest.fixture
def mock_llm() -> Iterator[StartMockLlm]:
    """Starts scripted models over HTTP, and ends them after the test: ``mock = mock_llm(text("Hello"))``."""
    from stepwell.testing import MockLlm

    started: list[Any] = []

    def start(*hops: Hop, repeat: bool | None = None) -> MockLlm:
        started.append(MockLlm(*hops, repeat=repeat))
        model: MockLlm = started[-1]
        return model

    yield start
    for model in started:
        model.close()
