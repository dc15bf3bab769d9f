"""Tools, approvals, requests and other work that a turn asks of the app, on the event loop that the turn was begun
on."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.turns import ContextOverflow, CredentialRequest, InstructionsRequest, NewRun, Trimmed
from ._around_tools import around
from ._record import Json, lift, lower
from .authorization import Authorization
from .effects import AnswerDeclined, HopContext, Question, ToolInvocation
from .errors import Deferred, ToolError
from .events import ToolFailureKind
from .hooks import Hook, Refused, looking, lower_answer, name_of
from .media import Parts
from .questions import Questions, asking
from .schema import jsonable
from . import tool_bugs
from .tool_context import ToolContext
from .tools import Tool
from .transport import HttpClient, send

logger = logging.getLogger("stepwell")

Decision = bool | str | Mapping[str, Json]
"""The user's decision on a tool call: ``True``, ``False``, or a reason to deny it, for the model to read; or the
arguments to run it with instead of the model's. Arguments that do not fit the tool count as a denial."""

Approver = Callable[[ToolInvocation], Decision | Awaitable[Decision]]
"""Asks the user whether a tool may run."""

Answerer = Callable[[ToolInvocation, Question], Json | Awaitable[Json]]
"""Asks the user a running tool's question: returns the answer, which fits ``question.schema``. ``None``, or an
``AnswerDeclined`` with the reason, if there is none."""

RunSource = Callable[[NewRun], str | Awaitable[str]]
"""Creates a run, and returns its id. An exception fails the turn."""

Authorized = str | Authorization
"""A key, or a key and headers."""

CredentialSource = Callable[[CredentialRequest], Authorized | Awaitable[Authorized]]
"""Returns the key, or a key and headers, of each request. It is called before each request, so it should cache what is
still valid. An exception fails the turn."""

InstructionsSource = Callable[[InstructionsRequest], str | Awaitable[str]]
"""Makes the instructions of a turn, before its first request. An exception fails the turn."""

Kept = Trimmed | Sequence[str] | None
"""What is kept of a conversation: the ids of its messages, such as ``overflow.newest(0.5)``, or those with a summary of
the others; ``None`` if the conversation cannot be shortened."""

Trimmer = Callable[[ContextOverflow, list[dict[str, Json]]], Kept | Awaitable[Kept]]
"""Shortens a conversation that does not fit the model's context, from the overflow and its AG-UI messages."""

ModelChooser = Callable[[HopContext], int | str | Awaitable[int | str]]
"""Chooses the model of a hop, by its name or its number. After an exception, which is logged, the turn continues with the
model that it has."""

OutputDecoder = Callable[[Json], object]
"""Decodes a typed answer into the app's own type. An exception, also of a returned awaitable, is the model's reason to
answer again."""


class TurnRunner(_ffi.TaskRunner):
    """Carries out a turn's requests to the app, in the context of the caller that began the turn.

    The public methods are called on other threads. An exception of the app's code ends that call only, except for
    ``KeyboardInterrupt``, which is for the whole program, and cancellation.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tools: Iterable[Tool[..., Any]],
        approver: Approver | None,
        answerer: Answerer | None,
        deps: object,
        client: HttpClient | None,
        run_source: RunSource | None,
        trimmer: Trimmer | None,
        chooser: ModelChooser | None,
        decoder: OutputDecoder | None,
        credentials: Mapping[tuple[str, str], CredentialSource],
        instructions: InstructionsSource | None,
        hooks: Iterable[Hook],
        tool_errors: tool_bugs.ToolErrors,
        base_url: str | None,
    ) -> None:
        self.loop = loop
        """The event loop of the app's code."""
        self.questions = Questions()
        """The approvals that wait in the view of the turn."""
        self._context = contextvars.copy_context()
        self._tools = {tool.name: tool for tool in tools}
        self._approver = approver
        self._answerer = answerer
        self._deps = deps
        self._client = client
        self._run_source = run_source
        self._trimmer = trimmer
        self._chooser = chooser
        self._decoder = decoder
        self._credentials = credentials
        self._instructions = instructions
        self._hooks = {name_of(hook): hook for hook in hooks}
        self.is_shared = False
        """Whether several turns have the runner: each is then ended by its name."""
        self.bugs: dict[str | None, BaseException] = {}
        """A tool's exceptions that the caller waiting for the turn should get, by the turn's name."""
        self.turns: dict[str | None, weakref.ref[_ffi.Turn]] = {}
        """The turns of the runner: to stop one."""
        self._tool_errors = tool_errors
        self._base_url = base_url
        self._running: dict[int, asyncio.Task[None]] = {}
        self._of: dict[int, str] = {}
        self._stopping: set[int] = set()
        self._over: set[str | None] = set()

    def run_tool(self, task: _ffi.ToolTask) -> None:
        """Begins a tool call."""
        self._on_loop(self._begin, task.id(), self._run_tool, task)

    def ask_approval(self, task: _ffi.ApprovalTask) -> None:
        """Asks the user."""
        self._on_loop(self._begin, task.id(), self._ask_approval, task)

    def ask_user(self, task: _ffi.QuestionTask) -> None:
        """Asks the user the question of a running tool."""
        self._on_loop(self._begin, task.id(), self._ask_user, task)

    def create_run(self, task: _ffi.CreateRunTask) -> None:
        """Creates a run."""
        self._on_loop(self._begin, task.id(), self._create_run, task)

    def trim_context(self, task: _ffi.TrimContextTask) -> None:
        """Shortens a conversation."""
        self._on_loop(self._begin, task.id(), self._trim_context, task)

    def choose_model(self, task: _ffi.ChooseModelTask) -> None:
        """Chooses the model of a hop."""
        self._on_loop(self._begin, task.id(), self._choose_model, task)

    def decode_output(self, task: _ffi.DecodeOutputTask) -> None:
        """Decodes a typed answer."""
        self._on_loop(self._begin, task.id(), self._decode_output, task)

    def give_credentials(self, task: _ffi.CredentialsTask) -> None:
        """Gets the key and the headers of a request."""
        self._on_loop(self._begin, task.id(), self._give_credentials, task)

    def run_hook(self, task: _ffi.HookTask) -> None:
        """Calls a hook."""
        self._on_loop(self._begin, task.id(), self._run_hook, task)

    def make_instructions(self, task: _ffi.InstructionsTask) -> None:
        """Makes a turn's instructions."""
        self._on_loop(self._begin, task.id(), self._make_instructions, task)

    def send_request(self, task: _ffi.HttpTask) -> None:
        """Begins to send a request."""
        self._on_loop(self._begin, task.id(), self._send_request, task)

    def cancel(self, task: int) -> None:
        """Stops a task."""
        try:
            self._on_loop(self._stop, task)
        except _ffi.CallbackError:
            # With the loop, its tasks are gone too.
            pass

    def _on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError as error:
            failed: Any = getattr(_ffi.CallbackError, "Failed")
            raise failed(f"the event loop that the turn was begun on takes no more work: {error}") from None

    def _begin(self, task: int, work: Callable[[Any], Coroutine[Any, Any, None]], given: object) -> None:
        if self.is_shared and isinstance(given, (_ffi.ToolTask, _ffi.ApprovalTask, _ffi.QuestionTask)):
            self._of[task] = given.invocation().turn
        if None in self._over or self._of.get(task) in self._over:
            # The task was on its way here when the turn ended.
            self._of.pop(task, None)
            return
        running: asyncio.Task[None] = self._context.copy().run(
            lambda: self.loop.create_task(work(given), name=f"stepwell-{task}")
        )
        self._running[task] = running
        running.add_done_callback(lambda _: self._done(task))

    def _done(self, task: int) -> None:
        self._running.pop(task, None)
        self._of.pop(task, None)
        self._stopping.discard(task)

    def _stop(self, task: int) -> None:
        # Only once: cleanup must not be interrupted.
        if task in self._running and task not in self._stopping:
            self._stopping.add(task)
            self._running[task].cancel()

    async def end(self, turn: str | None) -> None:
        """Stops what still runs for a finished turn, and waits until it has ended; ``None`` if there is one turn
        only."""
        try:
            is_here = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            is_here = False
        if is_here:
            await self._end(turn)
        elif self.loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._end(turn), self.loop))

    async def _end(self, turn: str | None) -> None:
        self._over.add(turn)
        tasks = [task for task in self._running if turn is None or self._of.get(task) == turn]
        # A tool that waits for its own turn does not wait for itself.
        current = asyncio.current_task()
        running = [self._running[task] for task in tasks if self._running[task] is not current]
        for task in tasks:
            self._stop(task)
        if running:
            await asyncio.wait(running)

    async def _run_tool(self, task: _ffi.ToolTask) -> None:
        invocation: ToolInvocation = lift(task.invocation())
        try:
            context = ToolContext.of(task.context(), self._deps, self.loop)
            with around(task):
                result = await self._tools[invocation.name].run(invocation.arguments, context)
            if isinstance(result, Parts):
                task.finish_parts(list(result))
            else:
                task.finish(result)
        except Deferred:
            task.defer()
        except ToolError as error:
            task.fail(_ffi.ToolFailureKind.ERROR, str(error))
        except asyncio.CancelledError:
            task.fail(_ffi.ToolFailureKind.CANCELLED, "the tool was cancelled")
            raise
        except KeyboardInterrupt:
            task.fail(_ffi.ToolFailureKind.CANCELLED, "the program was interrupted")
            raise
        except BaseException as error:
            # Also `SystemExit`, of argparse say, which would end the loop's thread.
            logger.error("the tool %r failed", invocation.name, exc_info=True)
            tool_bugs.report(self._base_url, invocation.name, error)
            if self._tool_errors == "raise":
                self._stop_for(task.id(), error)
            task.fail(_ffi.ToolFailureKind[ToolFailureKind.PANICKED.name], tool_bugs.shown(error))

    def _stop_for(self, task: int, error: BaseException) -> None:
        """Stops the turn of a tool that raised this error."""
        turn = self._of.get(task)
        self.bugs.setdefault(turn, error)
        stopped = self.turns.get(turn, lambda: None)()
        if stopped is not None:
            stopped.cancel()

    async def _ask_approval(self, task: _ffi.ApprovalTask) -> None:
        denied: Any = _ffi.Decision.DENIED
        if self._approver is None:
            task.decide(denied("this app has no way to ask the user"))
            return
        asking.set(self.questions)
        try:
            answer = self._approver(lift(task.invocation()))
            if inspect.isawaitable(answer):
                answer = await answer
            task.decide(_lowered(answer))
        except asyncio.CancelledError:
            task.decide(denied("the question was cancelled"))
            raise
        except KeyboardInterrupt:
            task.decide(denied("the program was interrupted"))
            raise
        except BaseException:
            logger.warning("the user could not be asked", exc_info=True)
            task.decide(denied("the user could not be asked"))

    async def _ask_user(self, task: _ffi.QuestionTask) -> None:
        answers: Any = _ffi.UserAnswer
        if self._answerer is None:
            task.answer(answers.DECLINED("this app has no way to ask the user"))
            return
        try:
            answer = self._answerer(lift(task.invocation()), lift(task.question()))
            if inspect.isawaitable(answer):
                answer = await answer
            if answer is None or isinstance(answer, AnswerDeclined):
                task.answer(answers.DECLINED(answer and answer.reason))
            else:
                task.answer(answers.GIVEN(jsonable(answer)))
        except asyncio.CancelledError:
            task.answer(answers.DECLINED("the question was cancelled"))
            raise
        except KeyboardInterrupt:
            task.answer(answers.DECLINED("the program was interrupted"))
            raise
        except BaseException:
            logger.warning("the user could not be asked", exc_info=True)
            task.answer(answers.DECLINED("the user could not be asked"))

    async def _create_run(self, task: _ffi.CreateRunTask) -> None:
        if self._run_source is None:
            task.fail("the agent has no `run_source`")
            return
        await _told(task, "the run was not created", self._run_source, lift(task.new_run()), task.finish)

    async def _give_credentials(self, task: _ffi.CredentialsTask) -> None:
        model = task.request().model
        source = self._credentials.get((model.provider, model.model))
        if source is None:
            task.fail(f"no function gives the key of the model `{model.model}`")
            return

        def given(authorized: Authorized) -> None:
            authorization = Authorization(authorized) if isinstance(authorized, str) else authorized
            task.finish(_ffi.Authorization(key=authorization.key, headers=dict(authorization.headers)))

        await _told(task, "the credentials were not given", source, lift(task.request()), given)

    async def _run_hook(self, task: _ffi.HookTask) -> None:
        answers: Any = _ffi.HookAnswer
        subject: object = lift(task.subject())
        try:
            given = looking(self._hooks[task.hook()], subject)
            if inspect.isawaitable(given):
                given = await given
            task.finish(lower_answer(subject, given))
        except Refused as refused:
            task.finish(answers.REFUSED(str(refused) or "no reason given"))
        except asyncio.CancelledError:
            task.finish(answers.FAILED("it was cancelled"))
            raise
        except KeyboardInterrupt:
            task.finish(answers.FAILED("the program was interrupted"))
            raise
        except BaseException as error:
            logger.warning("the hook %r failed", task.hook(), exc_info=True)
            task.finish(answers.FAILED(f"{type(error).__name__}: {error}"))

    async def _make_instructions(self, task: _ffi.InstructionsTask) -> None:
        if self._instructions is None:
            task.fail("the agent has no `instructions_from`")
            return
        made = self._instructions
        await _told(task, "the instructions were not made", made, lift(task.request()), task.finish)

    async def _trim_context(self, task: _ffi.TrimContextTask) -> None:
        if self._trimmer is None:
            task.finish(None)
            return
        try:
            kept = self._trimmer(lift(task.overflow()), task.messages())
            if inspect.isawaitable(kept):
                kept = await kept
            trimmed = kept if kept is None or isinstance(kept, Trimmed) else Trimmed(list(kept))
            task.finish(None if trimmed is None else lower(trimmed))
        except (asyncio.CancelledError, KeyboardInterrupt):
            task.finish(None)
            raise
        except BaseException:
            logger.warning("the conversation could not be shortened", exc_info=True)
            task.finish(None)

    async def _choose_model(self, task: _ffi.ChooseModelTask) -> None:
        none = 2**32 - 1
        if self._chooser is None:
            task.finish(none)
            return
        context: HopContext = lift(task.context())
        try:
            chosen = self._chooser(context)
            if inspect.isawaitable(chosen):
                chosen = await chosen
            task.finish(chosen if isinstance(chosen, int) else [each.name.model for each in context.models].index(chosen))
        except (asyncio.CancelledError, KeyboardInterrupt):
            task.finish(none)
            raise
        except BaseException:
            logger.warning("the model of a hop could not be chosen", exc_info=True)
            task.finish(none)

    async def _decode_output(self, task: _ffi.DecodeOutputTask) -> None:
        if self._decoder is None:
            task.refuse("the agent has no `output_decoder`")
            return
        try:
            decoded = self._decoder(task.value())
            if inspect.isawaitable(decoded):
                await decoded
            task.finish()
        except (asyncio.CancelledError, KeyboardInterrupt):
            task.refuse("the answer was not decoded")
            raise
        except BaseException as error:
            task.refuse(str(error) or type(error).__name__)

    async def _send_request(self, task: _ffi.HttpTask) -> None:
        if self._client is None:
            task.fail("the agent has no HTTP client of the app's")
            return
        try:
            await send(self._client, task.request(), task.answer())
            task.finish()
        except asyncio.CancelledError:
            task.fail("the request was cancelled")
            raise
        except KeyboardInterrupt:
            task.fail("the program was interrupted")
            raise
        except BaseException as error:
            task.fail(f"{type(error).__name__}: {error}")


async def _told(
    task: Any, failed: str, code: Callable[[Any], Any], request: object, finish: Callable[[Any], object]
) -> None:
    """Answers a task with the result of the app's code, awaited if need be, or with its exception."""
    try:
        given = code(request)
        if inspect.isawaitable(given):
            given = await given
        finish(given)
    except asyncio.CancelledError:
        task.fail("it was cancelled")
        raise
    except KeyboardInterrupt:
        task.fail("the program was interrupted")
        raise
    except BaseException as error:
        logger.warning(failed, exc_info=True)
        task.fail(f"{type(error).__name__}: {error}")


def _lowered(answer: Decision) -> Any:
    made: Any = _ffi.Decision
    if isinstance(answer, Mapping):
        return made.EDITED(dict(answer))
    if answer is True:
        return made.GRANTED()
    if answer is None or answer is False or isinstance(answer, str):
        return made.DENIED(answer or None)
    raise TypeError(
        f"the approver returned a value of the type {type(answer).__name__}: return True, False, a reason why not, or the "
        "arguments to run the tool with"
    )
