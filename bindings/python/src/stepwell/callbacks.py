"""What an agent's code of the app is called with, and what it returns: approvers and answerers, keys, instructions, runs and
trimmed conversations."""

from ._ffi.effects import AnswerDeclined, HopContext, Question, ToolInvocation
from ._ffi.turns import ContextOverflow, CredentialRequest, InstructionsRequest, NewRun, Trimmed
from .authorization import Authorization
from .runner import Answerer, Approver, CredentialSource, Decision, InstructionsSource, ModelChooser, RunSource, Trimmer
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
    "HopContext",
    "InstructionsRequest",
    "InstructionsSource",
    "ModelChooser",
    "NewRun",
    "Question",
    "RunSource",
    "ToolErrors",
    "ToolInvocation",
    "Trimmed",
    "Trimmer",
]
