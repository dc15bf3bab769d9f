"""What an agent's code of the app is called with, and what it returns: approvers and answerers, keys, instructions, runs and
trimmed conversations."""

from ._ffi.effects import AnswerDeclined, Question, ToolInvocation
from ._ffi.turns import ContextOverflow, CredentialRequest, InstructionsRequest, NewRun, Trimmed
from .authorization import Authorization
from .runner import Answerer, Approver, CredentialSource, Decision, InstructionsSource, RunSource, Trimmer
from .tool_bugs import ToolErrors

__all__ = [
    "AnswerDeclined",
    "Answerer",
    "Approver",
    "Authorization",
    "ContextOverflow",
    "CredentialRequest",
    "CredentialSource",
    "Decision",
    "InstructionsRequest",
    "InstructionsSource",
    "NewRun",
    "Question",
    "RunSource",
    "ToolErrors",
    "ToolInvocation",
    "Trimmed",
    "Trimmer",
]
