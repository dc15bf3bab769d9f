"""Stepwell: the loop between a user, a language model and tools on the user's own device.

Two APIs on the same machine: :class:`Agent` has the network inside, :class:`RunMachine` leaves all IO to the app::

    from stepwell import Agent, TextMessageContent, tool

    @tool
    def get_secret_number(name: str) -> int:
        return {"alice": 42, "bob": 7}[name]

    agent = Agent(provider="openai", model="gpt-4o-mini", key=key, tools=[get_secret_number])
    async for event in agent.send("What are Alice's and Bob's secret numbers?"):
        if isinstance(event, TextMessageContent):
            print(event.delta, end="", flush=True)
"""

from . import _waking as _waking
from . import log as _log
from ._ffi.stepwell_ffi import set_language as _set_language
from ._ffi.stepwell_ffi import version as _version
from ._ffi import config as _config
from ._ffi import effects as _effects
from ._ffi import events as _events
from ._ffi import outcomes as _outcomes
from ._ffi.config import *
from ._ffi.effects import *
from ._ffi.events import *
from ._ffi.outcomes import *
from ._ffi.turns import ContextOverflow, CredentialRequest, InstructionsRequest, NewRun, StoredTurn, Trimmed
from .agent import (
    Agent,
    Answerer,
    Approver,
    CredentialSource,
    Decision,
    InstructionsSource,
    OutputDecoder,
    Recovered,
    RunSource,
    Trimmer,
)
from .authorization import Authorization
from .config import JsonSchema
from .display import TurnCard
from .errors import (
    AgentFailedError,
    AppFailedError,
    AuthenticationError,
    BrokenError,
    BusyError,
    ConfigurationError,
    ConnectionFailedError,
    ContentFilteredError,
    ContextTooLongError,
    CutError,
    Deferred,
    EmptyAnswerError,
    InvalidArgumentError,
    InvalidRequestError,
    JournalError,
    LimitReachedError,
    MisuseError,
    NotFoundError,
    NotStoredError,
    OutputInvalidError,
    OverloadedError,
    RateLimitError,
    RefusedByHookError,
    RefusedError,
    ServerError,
    SnapshotError,
    StaleError,
    StepwellError,
    StoppedError,
    StoreFailedError,
    TimedOutError,
    ToolError,
    TurnError,
    UnavailableError,
    UnreadableError,
)
from .hooks import Hook, Refused
from .journals import JournalReplay, JournalSink, redact_journal, replay_journal
from .machine import (
    ApprovalTimer,
    ClosingTimer,
    CredentialsTimer,
    HookTimer,
    NetworkTimer,
    QuestionTimer,
    RetryTimer,
    RunMachine,
    SilenceTimer,
    StateKind,
    TimerKey,
    ToolTimer,
    TurnTimer,
)
from .media import ContentPart, Parts, audio, document, file, image, video
from .options import TurnOptions
from .providers import Api, Capabilities, ContextWindow, Provider, context_window, model_price, providers
from .questions import ask_in_notebook
from .registry import Registered, RegistryEvent, RunHandle, RunRegistry
from .screens import Shown, show
from .sessions import (
    MemoryStore,
    MessageView,
    Role,
    SessionStore,
    SessionView,
    SqliteStore,
    ToolExecution,
    TurnView,
    conversation_of,
    session_view,
)
from .stores import Store, StoreError, ThreadKey, ThreadRecord, TurnBlock, TurnRecord
from .sync import SyncTurn
from .timeline import Span
from .tool_context import ToolContext
from .tools import Tool, tool
from .transport import HttpClient, HttpHeaders, HttpResponse
from .turn import Turn

_log.begin()
_set_language("Python")

__version__ = _version()

__all__ = [
    "Agent",
    "AgentFailedError",
    "Answerer",
    "Api",
    "ApprovalTimer",
    "AppFailedError",
    "Approver",
    "AuthenticationError",
    "Authorization",
    "BrokenError",
    "BusyError",
    "Capabilities",
    "ClosingTimer",
    "ConfigurationError",
    "ConnectionFailedError",
    "ContentFilteredError",
    "ContentPart",
    "ContextOverflow",
    "ContextTooLongError",
    "ContextWindow",
    "CredentialRequest",
    "CredentialSource",
    "CredentialsTimer",
    "CutError",
    "Decision",
    "Deferred",
    "EmptyAnswerError",
    "Hook",
    "HookTimer",
    "HookedAnswer",
    "HookedCall",
    "HookedRequest",
    "HookedResult",
    "HttpClient",
    "HttpHeaders",
    "HttpResponse",
    "InstructionsRequest",
    "InstructionsSource",
    "InvalidArgumentError",
    "InvalidRequestError",
    "JournalError",
    "JournalReplay",
    "JournalSink",
    "JsonSchema",
    "LimitReachedError",
    "MemoryStore",
    "MessageView",
    "MisuseError",
    "NetworkTimer",
    "NewRun",
    "NotFoundError",
    "NotStoredError",
    "OverloadedError",
    "OutputDecoder",
    "OutputInvalidError",
    "Parts",
    "Provider",
    "QuestionTimer",
    "RateLimitError",
    "Recovered",
    "Refused",
    "RefusedByHookError",
    "RefusedError",
    "Registered",
    "RegistryEvent",
    "RetryTimer",
    "Role",
    "RunHandle",
    "RunMachine",
    "RunRegistry",
    "RunSource",
    "ServerError",
    "SessionStore",
    "SessionView",
    "SilenceTimer",
    "SnapshotError",
    "SqliteStore",
    "Shown",
    "Span",
    "StaleError",
    "StateKind",
    "StepwellError",
    "StoppedError",
    "Store",
    "StoreError",
    "StoreFailedError",
    "StoredTurn",
    "SyncTurn",
    "ThreadKey",
    "ThreadRecord",
    "TimedOutError",
    "TimerKey",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolExecution",
    "ToolTimer",
    "Trimmed",
    "Trimmer",
    "Turn",
    "TurnBlock",
    "TurnCard",
    "TurnError",
    "TurnOptions",
    "TurnRecord",
    "TurnTimer",
    "TurnView",
    "UnavailableError",
    "UnreadableError",
    "ask_in_notebook",
    "audio",
    "context_window",
    "conversation_of",
    "document",
    "file",
    "image",
    "model_price",
    "providers",
    "redact_journal",
    "replay_journal",
    "session_view",
    "show",
    "tool",
    "video",
]
__all__ += _config.__all__
__all__ += _effects.__all__
__all__ += _events.__all__
__all__ += _outcomes.__all__
