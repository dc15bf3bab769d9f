"""The app's own HTTP client: `python own_client.py [BASE_URL [FILE]]`, with the key in OPENAI_API_KEY. Needs httpx.

Stepwell does no IO here. The host below carries out what the machine asks for, and tells it what came of that: it is
whole, with tools side by side, retries, timeouts and cancellation, and can be taken as it is. With a FILE the run is kept
there: if the program is killed, the next one goes on.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx

from stepwell import Tool, ToolError, tool
from stepwell.machine import AskApproval, CancelTool, CloseStream, OpenStream, Outputs, RunConfig, RunMachine, RunTool, TextMessageContent
from stepwell.updates import Event, Interrupted, Outcome, ToolFailureKind


class Host:
    """Runs one turn: its HTTP over `client`, its tools on the event loop. `file` has the run until it is over."""

    def __init__(
        self,
        machine: RunMachine,
        client: httpx.AsyncClient,
        tools: list[Tool[..., Any]],
        listener: Callable[[Event], object],
        file: Path | None = None,
    ) -> None:
        self.machine = machine
        self.client = client
        self.tools = {tool.name: tool for tool in tools}
        self.listener = listener
        self.file = file
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.changed = asyncio.Event()

    async def run(self, text: str | None = None) -> Outcome:
        """From what the user says to the end of the turn. Cancelling it cancels the turn.

        Without a text it goes on with a run that was revived.
        """
        self.took(self.machine.poll_outputs() if text is None else self.machine.start(text))
        try:
            while (outcome := self.machine.outcome) is None:
                self.changed.clear()
                # `asyncio.wait_for` may lose a cancellation before Python 3.12.
                alarm = self.alarm()
                try:
                    await self.changed.wait()
                finally:
                    if alarm:
                        alarm.cancel()
            return outcome
        except asyncio.CancelledError:
            self.took(self.machine.cancel())
            raise
        finally:
            await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def alarm(self) -> asyncio.TimerHandle | None:
        """Tells the run the time when it wants to know it."""
        if (wake_at := self.machine.poll_timeout()) is None:
            return None
        seconds = max(0.0, (wake_at - datetime.now(timezone.utc)).total_seconds())
        return asyncio.get_running_loop().call_later(seconds, lambda: self.took(self.machine.timeout()))

    def took(self, outputs: Outputs) -> None:
        """Writes down where the run stands, shows what happened, and begins what is to be done."""
        self.keep()
        for event in outputs.events:
            self.listener(event)
            if isinstance(event, Interrupted):  # an AG-UI agent's questions: this program cannot ask
                self.took(self.machine.resume({question.id: None for question in event.interrupts}))
        for effect in outputs.effects:
            match effect:
                case OpenStream():
                    self.begin(effect.id, self.stream(effect))
                case RunTool():
                    self.begin(effect.id, self.run_tool(effect))
                case AskApproval(id=id):
                    self.took(self.machine.deny(id, "this program cannot ask"))
                case CloseStream(id=id) | CancelTool(id=id):
                    if task := self.tasks.get(id):
                        task.cancel()
        self.changed.set()

    def keep(self) -> None:
        if self.file is None:
            return
        if self.machine.outcome is not None:
            self.file.unlink(missing_ok=True)
            return
        fresh = self.file.with_name(f"{self.file.name}.new")
        fresh.write_text(self.machine.snapshot(), encoding="utf-8")
        fresh.replace(self.file)

    def begin(self, id: str, work: Coroutine[Any, Any, None]) -> None:
        self.tasks[id] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self.tasks.pop(id, None))

    async def stream(self, effect: OpenStream) -> None:
        machine, request, is_open = self.machine, effect.request, False
        try:
            async with self.client.stream(
                request.method, request.url, headers=request.headers, content=request.body
            ) as response:
                if response.is_success:
                    self.took(machine.opened(effect.id, response.headers.get("content-type")))
                    is_open = True
                    async for chunk in response.aiter_bytes():
                        self.took(machine.receive(effect.id, chunk))
                    self.took(machine.ended(effect.id))
                else:
                    wait = response.headers.get("retry-after", "")
                    retry_after = float(wait) if wait.isdigit() else None
                    body = await response.aread()
                    self.took(machine.refused(effect.id, response.status_code, body, retry_after=retry_after))
        except httpx.HTTPError as error:
            told = machine.lost if is_open else machine.connection_failed
            self.took(told(effect.id, repr(error)))

    async def run_tool(self, effect: RunTool) -> None:
        invocation = effect.invocation
        try:
            result = await self.tools[invocation.name].run(invocation.arguments)
        except ToolError as error:
            self.took(self.machine.tool_failed(effect.id, str(error)))
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # also `SystemExit`
            self.took(self.machine.tool_failed(effect.id, repr(error), kind=ToolFailureKind.PANICKED))
        else:
            self.took(self.machine.tool_finished(effect.id, result))


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


def show(event: Event) -> None:
    if isinstance(event, TextMessageContent):
        print(event.delta, end="", flush=True)


async def main() -> None:
    base_url = sys.argv[1] if len(sys.argv) > 1 else None
    key = os.environ.get("OPENAI_API_KEY")
    tools = [get_secret_number]
    config = RunConfig(provider="openai", model="gpt-4o-mini", base_url=base_url, key=key, tools=tools)
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if file and file.exists():
        machine, text = RunMachine.revive(file.read_text(encoding="utf-8"), config), None
        print(machine.shown_text)
    else:
        machine, text = RunMachine(config), "What are Alice's and Bob's secret numbers?"
    # The machine keeps the time, so the client must not: a model may think for long. A redirect is not followed, as httpx
    # has it by itself: it would take the key and the conversation elsewhere.
    async with httpx.AsyncClient(timeout=None, follow_redirects=False) as client:
        outcome = await Host(machine, client, tools, show, file).run(text)
    print()
    if problem := outcome.problem:
        sys.exit(f"{problem.message}; {problem.advice}")


if __name__ == "__main__":
    asyncio.run(main())
