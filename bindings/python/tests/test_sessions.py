"""Sessions of an app that stores what a machine gives it by itself."""

from __future__ import annotations

import pytest

from machines import STOP, answers, asks, at, config, delta
from stepwell import MisuseError, tool
from stepwell.machine import Outputs, Persist, RunMachine, RunTool, TurnStatus, conversation_of, session_view
from stepwell.sessions import Role
from stepwell.stores import TurnBlock, TurnRecord
from stepwell.updates import Success, ToolCallStatus


@tool
def weather(city: str) -> str:
    """The weather."""
    return f"{city}: sunny"


class Keeper:
    """Keeps a turn as a database would."""

    def __init__(self, message: str | None, parent: str | None = None) -> None:
        said = None if message is None else {"id": f"said-{message}", "role": "user", "content": message}
        self.message = said
        self.turn = TurnRecord("", parent, said, None, TurnStatus.STREAMING, None, at(1000), at(1000), [])

    def keep(self, machine: RunMachine, outputs: Outputs, now: int) -> Outputs:
        """Stores what is to be stored; what the machine wants then."""
        effects = list(outputs.effects)
        for write in [effect for effect in effects if isinstance(effect, Persist)]:
            blocks = [*self.turn.blocks, *(TurnBlock(block, at(now)) for block in write.blocks)]
            outcome = write.stored_outcome
            self.turn = TurnRecord(
                write.turn, self.turn.parent, self.message, None, write.status, outcome, at(1000), at(now), blocks
            )
            effects += self.keep(machine, machine.persisted(write.id, now=at(now)), now).effects
        return Outputs(outputs.events, effects, outputs.wake_at)


def kept(run_id: str, message: str, parent: str | None = None) -> tuple[TurnRecord, RunMachine]:
    """A turn with a tool, stored block by block."""
    machine = RunMachine(config("http://localhost/v1", weather, persist_attempts=2), thread_id="thread")
    keeper = Keeper(message, parent)
    outputs = machine.start(message=keeper.message, run_id=run_id, now=at(1000))
    outputs = keeper.keep(machine, answers(machine, outputs, asks(("c1", "weather", {"city": "Rome"}))), 2000)
    (run,) = [effect for effect in outputs.effects if isinstance(effect, RunTool)]
    outputs = keeper.keep(machine, machine.tool_finished(run.id, "Rome: sunny", now=at(3000)), 3000)
    keeper.keep(machine, answers(machine, outputs, delta("It is sunny.") + STOP, 4000), 4000)
    return keeper.turn, machine


def test_stored_turns_are_shown_as_they_were_live() -> None:
    turn, machine = kept("run", "How is Rome?")
    assert (turn.id, turn.status) == ("run", TurnStatus.COMPLETE)

    view = session_view([turn])
    assert view.title == "How is Rome?"
    (shown,) = view.turns
    assert (shown.id, shown.status, shown.outcome) == ("run", TurnStatus.COMPLETE, Success())
    assert [message.role for message in view.messages] == [Role.USER, Role.ASSISTANT, Role.ASSISTANT]
    (call,) = view.messages[1].tool_executions
    assert (call.tool_id, call.tool_name, call.status) == ("c1", "weather", ToolCallStatus.COMPLETED)
    assert (call.args, call.result) == ({"city": "Rome"}, "Rome: sunny")
    assert view.messages[2].text == "It is sunny."
    assert (view.created_at, view.updated_at) == (at(1000), at(4000))

    assert conversation_of([turn]) == machine.messages


def test_the_path_to_a_turn_leaves_its_siblings_out() -> None:
    first, _ = kept("one", "First?")
    second, _ = kept("two", "Second?", parent="one")
    edited, _ = kept("three", "Second, edited?", parent="one")
    turns = [first, second, edited]

    def asked(turn: str | None) -> list[str]:
        return [message.text for message in session_view(turns, turn).messages if message.role == Role.USER]

    assert asked("two") == ["First?", "Second?"]
    assert asked("three") == ["First?", "Second, edited?"]
    assert asked("one") == ["First?"]
    said = [message["content"] for message in conversation_of(turns, "two") if message["role"] == "user"]
    assert said == ["First?", "Second?"]


def test_turns_that_no_store_gave() -> None:
    turn, _ = kept("run", "Hi")
    (block, *_) = turn.blocks
    broken = TurnBlock(type(block.block)(block.block.sequence, 0, {"type": 7}), at(1))
    with pytest.raises(MisuseError, match="just as they were stored"):
        session_view([TurnRecord("run", None, None, None, TurnStatus.COMPLETE, None, at(1), at(1), [broken])])
    with pytest.raises(MisuseError):
        session_view([turn], "elsewhere")
