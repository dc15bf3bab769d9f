"""One agent, which all users share."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable

import pytest
from conftest import THOROUGH, MockLlm, text

from stepwell import Agent, Conversation, Model, ToolContext, TurnResult, tool
from stepwell.device import Device
from stepwell.errors import BusyError
from stepwell.messages import AssistantMessage, UserMessage
from stepwell.stores import Store
from stepwell.testing import MockLlm as PythonMockLlm, calls

Start = Callable[..., MockLlm]

USERS, RUNS = 100, 10


def contents(request: dict[str, object]) -> list[str]:
    body = request["body"]
    assert isinstance(body, dict)
    return [str(message["content"]) for message in body["messages"] if message["role"] == "user"]


async def test_a_thousand_runs_by_a_hundred_users_stay_apart() -> None:
    with PythonMockLlm(text("Yes."), repeat=True) as mock:
        agent = Agent(mock.model)

        async def user(number: int) -> list[TurnResult[str]]:
            return [await agent.run(f"user {number} asks {run}") for run in range(RUNS)]

        results = await asyncio.gather(*map(user, range(USERS)))
        assert [result.stop_reason for each in results for result in each] == ["complete"] * USERS * RUNS
        asked = [contents(request) for request in mock.requests()]
        assert sorted(asked) == sorted([f"user {user} asks {run}"] for user in range(USERS) for run in range(RUNS))


async def test_conversations_of_one_agent_stay_apart() -> None:
    with PythonMockLlm(text("Yes."), repeat=True) as mock:
        agent = Agent(mock.model)

        async def user(number: int) -> None:
            conversation = agent.conversation(f"user-{number}")
            for message in range(5):
                await conversation.send(f"user {number} says {message}")

        await asyncio.gather(*map(user, range(20)))
        for request in mock.requests():
            said = contents(request)
            number = said[0].split()[1]
            assert said == [f"user {number} says {message}" for message in range(len(said))]


async def test_runs_of_several_threads_and_loops_share_an_agent() -> None:
    with PythonMockLlm(text("Yes."), repeat=True) as mock:
        agent = Agent(mock.model)
        results: list[str] = []

        def work(number: int) -> None:
            results.append(agent.run_sync(f"sync {number}").text)
            results.append(asyncio.run(agent.run(f"async {number}")).text)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
        assert results == ["Yes."] * 16
        assert all(len(contents(request)) == 1 for request in mock.requests())


async def test_nothing_stays_of_runs_and_of_conversations_that_are_let_go() -> None:
    with PythonMockLlm(text("Yes."), repeat=True) as mock:
        agent = Agent(mock.model)
        for number in range(2_000 if THOROUGH else 50):
            await agent.run("Hi")
            await agent.conversation(f"c{number}").send("Hi")
        gc.collect()
        registry = Device(agent).registry
        assert registry.running() == []
        assert json.loads(registry.snapshot())["unread"] == []


async def test_a_run_is_a_coroutine(mock_llm: Start) -> None:
    mock = mock_llm(text("One"), text("Two"))
    agent = Agent(mock.model)
    assert asyncio.iscoroutinefunction(agent.run)
    task = asyncio.create_task(agent.run("Hi"))
    assert (await task).text == "One"
    assert (await asyncio.wait_for(agent.run("Hi"), 60)).output == "Two"


async def test_each_run_has_its_own_deps() -> None:
    @tool
    async def who(context: ToolContext[str]) -> str:
        return context.deps

    with PythonMockLlm(calls(("who", {})), text("Yes."), repeat=True) as mock:
        agent = Agent(mock.model, tools=[who], deps_type=str)

        async def user(name: str) -> None:
            result = await agent.run("Who am I?", deps=name)
            assert [message.to_json()["content"] for message in result.messages if message.role == "tool"] == [name]

        await asyncio.gather(*(user(f"user {number}") for number in range(20)))


async def test_a_conversation_remembers_and_a_run_does_not(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello Ada"), text("Ada"), text("I do not know"))
    agent = Agent(mock.model)
    conversation = agent.conversation()
    await conversation.send("I am Ada")
    assert (await conversation.send("Who am I?")).text == "Ada"
    await agent.run("Who am I?")
    assert [contents(request) for request in mock.requests()] == [["I am Ada"], ["I am Ada", "Who am I?"], ["Who am I?"]]
    assert [message.role for message in conversation.messages] == ["user", "assistant", "user", "assistant"]


async def test_conversations_of_one_id_are_one_while_one_is_held(mock_llm: Start) -> None:
    mock = mock_llm(text("One"), text("Two"), text("Three"))
    agent = Agent(mock.model)
    first, second = agent.conversation("c"), agent.conversation("c")
    await first.send("a")
    del first
    await second.send("b")
    del second
    gc.collect()
    await agent.conversation("c").send("c")
    assert [contents(request) for request in mock.requests()] == [["a"], ["a", "b"], ["c"]]


async def test_a_conversation_begins_with_a_history(mock_llm: Start) -> None:
    mock = mock_llm(text("Ada"))
    conversation = Agent(mock.model).conversation(history=[UserMessage("I am Ada"), AssistantMessage("Hello")])
    await conversation.send("Who am I?")
    assert contents(mock.requests()[0]) == ["I am Ada", "Who am I?"]


async def test_a_second_message_while_a_turn_is_under_way_is_busy(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Now"))
    conversation = Agent(mock.model).conversation()
    async with conversation.stream("One") as turn:
        async for _ in turn.text_stream:
            with pytest.raises(BusyError) as raised:
                await conversation.send("Two")
            assert raised.value.result is None
            result = await conversation.send("Three", when_busy="cancel")
            break
    assert result.text == "Now"


async def test_a_detached_turn_outlives_its_conversation_and_is_released_at_its_end() -> None:
    waits, done = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        waits.set()
        await done.wait()
        return "worked"

    with PythonMockLlm(calls(("work", {})), text("Well."), text("Again.")) as mock:
        agent = Agent(mock.model, tools=[work])
        turn = agent.conversation("c").stream("Go")
        await turn.detach()
        del turn
        await waits.wait()
        # Another handle of the conversation comes and goes.
        conversation = agent.conversation("c")
        del conversation
        gc.collect()
        registry = Device(agent).registry
        assert [handle.key.thread for handle in registry.running()] == ["c"]
        done.set()
        await asyncio.to_thread(mock.wait_until, lambda requests: len(requests) == 2)
        # The registry hears of the end before the thread is released.
        while registry.running() or json.loads(registry.snapshot())["unread"]:
            await asyncio.sleep(0)
        assert mock.requests()[1]["delivery"] == "complete"


async def test_agents_that_share_a_store_of_the_apps_share_its_thread() -> None:
    class Own(Store):
        """Its methods are never called."""

    Own.__abstractmethods__ = frozenset()
    store = Own()  # type: ignore[abstract]
    first, second = Agent("openai:m", store=store), Agent("openai:m", store=store)
    assert first.store is not None and first.store is second.store
    assert second.with_model("openai:other").store is first.store


async def test_another_model_continues_a_conversation(mock_llm: Start) -> None:
    one, two = mock_llm(text("One"), text("Three")), mock_llm(text("Two"))
    conversation: Conversation[None, str] = Agent(one.model).conversation()
    await conversation.send("a")
    other = Model.openai_compatible("other", base_url=two.base_url)
    assert (await conversation.send("b", model=other)).text == "Two"
    await conversation.send("c")
    assert [contents(request) for request in two.requests()] == [["a", "b"]]
    assert [contents(request) for request in one.requests()] == [["a"], ["a", "b", "c"]]
    assert two.requests()[0]["body"]["model"] == "other"


async def test_an_agent_keeps_the_connections_to_another_model(mock_llm: Start) -> None:
    one, two = mock_llm(text("never")), mock_llm(text("Two"), text("Two"))
    agent = Agent(one.model)
    for _ in range(2):
        assert (await agent.run("Hi", model=Model.openai_compatible("other", base_url=two.base_url))).text == "Two"
    assert len(agent._models) == 1
    assert one.requests() == []


def test_an_agent_is_made_without_the_library() -> None:
    import subprocess
    import sys

    program = (
        "import sys; from stepwell import Agent, tool;\n"
        "@tool\ndef f(x: int) -> int: return x\n"
        "Agent('openai:gpt-5-mini', tools=[f], temperature=0.5, limits={'max_cost': 1.0});\n"
        "assert 'stepwell._ffi.events' not in sys.modules\n"
        "assert not vars(sys.modules['stepwell._ffi.stepwell_ffi']).get('_has_run')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
