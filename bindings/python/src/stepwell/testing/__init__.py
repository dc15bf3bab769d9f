"""Tools for an app's tests: a scripted model behind a port, and turns that are played without one.

``MockLlm`` is a model that an ``Agent`` talks to over HTTP, ``play`` returns the events of a turn without any network,
and ``stepwell.testing.strategies`` makes event sequences for Hypothesis. With pytest the fixture ``mock_llm`` starts
models and stops them.
"""

from .play import PlayedTurn, play
from .script import SECRET_NUMBERS, Hop, calls, error, text
from .server import MockLlm, MockLlmProgram, Request

__all__ = [
    "SECRET_NUMBERS",
    "Hop",
    "MockLlm",
    "MockLlmProgram",
    "PlayedTurn",
    "Request",
    "calls",
    "error",
    "play",
    "text",
]
