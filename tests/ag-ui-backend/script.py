"""What the backends' models answer: a word of the question says which script they follow.

A script is a list of steps: `("text", piece)`, `("thought", piece)` or `("call", id, tool, arguments)`.
"""

import asyncio

cancelled = asyncio.Event()


async def steps(question, results, tools):
    """The answer to what the user said last. `results` is what the tools gave since, as (tool, result)."""
    if results:
        yield ("text", "The tools gave ")
        yield ("text", ", ".join(f"{tool}={result}" for tool, result in results))
        yield ("text", ".")
    elif "hello" in question:
        yield ("text", "Hello ")
        yield ("text", "there.")
    elif "think" in question:
        yield ("thought", "Let me ")
        yield ("thought", "see.")
        yield ("text", "I see.")
    elif "both" in question:
        yield ("call", "call-alice", "secret_number", {"name": "alice"})
        yield ("call", "call-bob", "secret_number", {"name": "bob"})
    elif "app" in question:
        assert "location" in tools, tools
        yield ("text", "Where are you? ")
        yield ("call", "call-location", "location", {"exact": True})
        yield ("call", "call-battery", "battery", {})
    elif "mixed" in question:
        yield ("call", "call-alice", "secret_number", {"name": "alice"})
        yield ("call", "call-location", "location", {"exact": False})
    elif "which" in question:
        yield ("call", "call-colour-now", "colour_now", {})
    elif "change" in question:
        yield ("call", "call-colour", "set_colour", {"colour": "blue"})
    elif "delete" in question:
        yield ("call", "call-delete-a", "delete_file", {"path": "a.txt"})
        yield ("call", "call-delete-b", "delete_file", {"path": "b.txt"})
    elif "erase" in question:
        yield ("call", "call-delete-a", "delete_file", {"path": "a.txt"})
    elif "fail" in question:
        yield ("text", "So far")
        raise RuntimeError("the model fell over")
    elif "wait" in question:
        try:
            yield ("text", "One")
            await asyncio.Event().wait()
        finally:
            cancelled.set()
    else:
        yield ("text", f"I heard `{question}`.")


def secret_number(name: str) -> int:
    """The user's secret number."""
    return {"alice": 42, "bob": 7}[name]
