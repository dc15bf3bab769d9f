"""Hypothesis strategies for the updates of a turn, to test an app's own invariants. Needs ``hypothesis``.

::

    from hypothesis import given
    from stepwell.testing.strategies import update_sequences

    @given(update_sequences())
    def test_my_screen_ends_idle(updates):
        screen = Screen()
        for update in updates:
            screen.show(update)
        assert not screen.running

The machine itself emitted every sequence for some model, tools, network and user, so the sequence keeps all that
Stepwell promises, and it shrinks to the shortest script that breaks the test.
"""

from __future__ import annotations

from typing import Any

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("stepwell.testing.strategies needs hypothesis: `pip install hypothesis`") from error

from .._record import Json
from ..effects import ToolInvocation
from ..errors import ToolError
from ..updates import Update
from ..tools import tool
from .play import PlayedTurn, play
from .script import Hop


@tool(repeatable=True)
def look(what: str = "") -> str:
    """Looks something up."""
    return what


@tool(repeatable=True, requires_approval=True)
def order(what: str, amount: int = 1) -> str:
    """Orders something."""
    return f"{amount} {what}"


_TOOLS = (look, order)

words: st.SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Text of any kind: empty, of other scripts, with control characters, quotes and markup."""


def _steps(**others: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.one_of([st.fixed_dictionaries({name: strategy}) for name, strategy in others.items()])


def tool_calls() -> st.SearchStrategy[Json]:
    """Returns steps that ask for a tool: mostly well, or by a wrong name, or with arguments that are no JSON or do not
    fit."""
    good = st.one_of(
        st.fixed_dictionaries({"name": st.just("look"), "arguments": st.fixed_dictionaries({}, optional={"what": words})}),
        st.fixed_dictionaries({"name": st.just("order"), "arguments": st.fixed_dictionaries({"what": words})}),
    )
    bad = st.one_of(
        st.fixed_dictionaries({"name": st.just("look"), "raw_arguments": st.sampled_from(["", "{", "null", '{"what":1}'])}),
        st.fixed_dictionaries({"name": st.just("nobody"), "arguments": st.just({})}),
    )
    return _steps(tool_call=good | good | bad)


def said() -> st.SearchStrategy[Json]:
    """Returns steps that say or think something."""
    return _steps(text=words, reasoning=words)


def _shows(steps: list[Json]) -> bool:
    """Returns whether an answer is more than reasoning and blanks, which are no answer."""
    return any("tool_call" in step or step.get("text", "").strip() for step in steps)


def hops(*, trouble: bool = True) -> st.SearchStrategy[Hop]:
    """Returns answers of a model: text, reasoning and tool calls. With ``trouble`` some break off, fail, are refused or
    empty."""
    steps = st.lists(said() | tool_calls(), max_size=4)
    if not trouble:
        return st.builds(lambda steps: {"steps": steps if _shows(steps) else [*steps, {"text": "So."}]}, steps)
    whole = st.fixed_dictionaries({"steps": steps})
    bad_end = st.one_of(st.sampled_from(["cut", "stall", "end_early"]), _steps(error_event=words))
    broken = st.builds(lambda steps, end: {"steps": [*steps, end]}, steps, bad_end)
    refused = st.fixed_dictionaries({"status": st.sampled_from([400, 401, 429, 500, 503]), "error": words})
    return st.one_of(whole, whole, broken, refused, st.just({"hang_up": True}))


@st.composite
def turns(draw: st.DrawFn, *, trouble: bool = True, max_hops: int = 3) -> PlayedTurn:
    """Returns turns that were played to their end, with their results.

    Without ``trouble`` nothing goes wrong, and the user stops no turn: all end in ``Success``, even if the model asks
    for tools that do not exist, or with arguments that do not fit, of which it is informed.
    """
    script = draw(st.lists(hops(trouble=trouble), max_size=max_hops))
    results = draw(st.lists(words | st.none() if trouble else words, max_size=4))

    def answer(invocation: ToolInvocation) -> Json:
        number = invocation.call.hop * 4 + invocation.call.index
        given: Any = results[number % len(results)] if results else ""
        if given is None:
            raise ToolError("out of order")
        return given

    return play(
        *script,
        tools=_TOOLS,
        answer=answer,
        last_first=draw(st.booleans()),
        chunk=draw(st.sampled_from([4096, 300, 64, 7])),
        cancel_after=draw(st.none() | st.integers(0, 30)) if trouble else None,
    )


def update_sequences(*, trouble: bool = True, max_hops: int = 3) -> st.SearchStrategy[list[Update]]:
    """Returns the updates of complete turns, in the order in which an app gets them."""
    return turns(trouble=trouble, max_hops=max_hops).map(lambda turn: turn.updates)
