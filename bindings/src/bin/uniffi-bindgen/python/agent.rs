//! Python: the options of an agent, as the initializer of a class that `Agent` extends.

use super::config::{self, Argument};
use super::{STYLE, WIDTH};
use crate::model::Shapes;
use anyhow::Context as _;

/// An argument that Python has in another form than `AgentSetup`: its name, type, default and documentation.
struct Own {
    field: &'static str,
    name: &'static str,
    declared: &'static str,
    doc: &'static str,
}

const fn own(
    field: &'static str,
    name: &'static str,
    declared: &'static str,
    doc: &'static str,
) -> Own {
    Own {
        field,
        name,
        declared,
        doc,
    }
}

/// A documentation that is empty is Rust's. `tools` is the configuration's.
const OWN: [Own; 20] = [
    own(
        "tools",
        "tools",
        "Sequence[Tool[..., Any] | Callable[..., Any]] = ()",
        "Functions that the model may ask for; see `tool`.",
    ),
    own(
        "approver",
        "approver",
        "Approver | None = None",
        "Asks the user about tools with `requires_approval`; without one they are denied.",
    ),
    own(
        "answerer",
        "answerer",
        "Answerer | None = None",
        "Asks the user what running tools want to know (`ToolContext.ask`); without one their questions are declined.",
    ),
    own(
        "answerer",
        "deps",
        "Any = None",
        "The app's own value, which tools are given as `ToolContext.deps`.",
    ),
    own("thread_id", "thread_id", "str | None = None", ""),
    own(
        "history",
        "history",
        "Sequence[Mapping[str, Json]] = ()",
        "An earlier conversation to go on with: AG-UI messages, oldest first.",
    ),
    own(
        "shared_state",
        "shared_state",
        "Json = None",
        "The state shared with an AG-UI agent.",
    ),
    own("store", "store", "SessionStore | Store | None = None", ""),
    own(
        "store",
        "wait_for_store",
        "bool = False",
        "Whether turns wait for a store that is full or out of reach, however long it takes.",
    ),
    own("journal", "journal", "JournalSink | None = None", ""),
    own(
        "client",
        "client",
        "HttpClient | None = None",
        "Sends the requests with the app's own HTTP client, such as an `httpx.AsyncClient`, on the event loop that \
         `send` is called on. Stepwell has connections of its own if absent.",
    ),
    own("run_source", "run_source", "RunSource | None = None", ""),
    own("trim_context", "trim_context", "Trimmer | None = None", ""),
    own(
        "output_decoder",
        "output_type",
        "Any = None",
        "What the answers are, as a type of the app's own: a dataclass, a TypedDict, a Pydantic model, a list or a union of \
         them, … `Finished.output` is of it. In the place of `output`, which is for a JSON Schema.",
    ),
    own(
        "output_decoder",
        "output_decoder",
        "OutputDecoder | None = None",
        "",
    ),
    own(
        "credentials",
        "credentials",
        "CredentialSource | None = None",
        "Gives the key, or an `Authorization` with headers, of each request: a function, plain or async, that is asked \
         before each and once more after a 401. They are those above if absent.",
    ),
    own(
        "hooks",
        "hooks",
        "Sequence[Hook] = ()",
        "Look at requests, answers and tools, change them, or refuse them with a reason, in this order.",
    ),
    own(
        "instructions_from",
        "instructions_from",
        "InstructionsSource | None = None",
        "Makes the instructions of each turn: a function, plain or async, of the turn and what was said so far. They are \
         `instructions` if absent.",
    ),
    own("registry", "registry", "RunRegistry | None = None", ""),
    own(
        "registry",
        "tool_errors",
        "ToolErrors = \"hide\"",
        "What becomes of an exception in a tool that is no `ToolError`: `hide` tells the model that the tool failed and \
         nothing of the exception, `show` shows it the type and the text, `raise` stops the turn and raises the exception \
         where the turn is awaited or looped over.",
    ),
];

const BEGINNING: &str = r#""""Generated from bindings/src."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .._record import Json
from ..arguments import checks_arguments
from ..hooks import Hook
from ..journals import JournalSink
from ..registry import RunRegistry
from ..runner import Answerer, Approver, OutputDecoder, CredentialSource, InstructionsSource, RunSource, Trimmer
from ..sessions import SessionStore
from ..stores import Store
from ..tool_bugs import ToolErrors
from ..tools import Tool, as_tool
from ..transport import HttpClient
from .config import *


class AgentOptions:
    """What an ``Agent`` is made with."""

"#;

/// The module's text.
pub(super) fn module(shapes: &Shapes) -> anyhow::Result<String> {
    let mut parameters = String::new();
    let mut docs = String::new();
    let mut values = String::new();
    for field in shapes.options()? {
        let Argument {
            declared,
            value,
            doc,
        } = config::argument(shapes, "RunConfig", field)?;
        let name = &field.name;
        parameters.push_str(&format!("        {name}: {declared},\n"));
        values.push_str(&format!("            {name}={value},\n"));
        docs.push_str(&entry(name, &doc));
    }
    let mut passed = String::new();
    let mut taken = String::new();
    for field in shapes.get("AgentSetup")?.fields() {
        let mut own = OWN.iter().filter(|own| own.field == field.name).peekable();
        own.peek()
            .with_context(|| format!("say in OWN how Python has `AgentSetup.{}`", field.name))?;
        for own in own {
            let name = own.name;
            parameters.push_str(&format!("        {name}: {},\n", own.declared));
            let doc = if own.doc.is_empty() {
                &field.doc
            } else {
                own.doc
            };
            docs.push_str(&entry(name, doc));
            if name != "tools" {
                let ty = own.declared.split(" = ").next().unwrap_or_default();
                taken.push_str(&format!("        {name}: {ty},\n"));
                passed.push_str(&format!("            {name}={name},\n"));
            }
        }
    }
    Ok(format!(
        "{BEGINNING}    @checks_arguments\n    def __init__(\n        self,\n        *,\n{parameters}    ) -> None:\n\
         \x20       \"\"\"Sets up a conversation; nothing is sent yet.\n\n        Args:\n{docs}        \"\"\"\n\
         \x20       self.tools: tuple[Tool[..., Any], ...] = tuple(as_tool(tool) for tool in tools)\n\
         \x20       \"\"\"The tools on offer.\"\"\"\n\
         \x20       config = RunConfig(\n{values}            tools=self.tools,\n        )\n\
         \x20       self._set_up(\n            config,\n{passed}        )\n\n\
         \x20   def _set_up(\n        self,\n        config: RunConfig,\n        *,\n{taken}    ) -> None:\n\
         \x20       raise NotImplementedError\n"
    ))
}

/// An argument's documentation, in a docstring's list of them.
fn entry(name: &str, doc: &str) -> String {
    let doc = doc.replace("\n\n", " ");
    let text = format!("{name}: {doc}");
    let lines = STYLE.lines(&text, None, WIDTH - 16);
    let mut entry = String::new();
    for (number, line) in lines.iter().enumerate() {
        let indent = if number == 0 { 12 } else { 16 };
        entry.push_str(&format!("{:indent$}{line}\n", ""));
    }
    entry
}
