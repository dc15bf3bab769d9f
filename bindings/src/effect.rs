use crate::event::Event;
use crate::hook::HookSubject;
use crate::json_value::JsonValue;
use crate::outcome::Outcome;
use crate::question::{Question, UserAnswer};
use crate::same::same;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use stepwell_core::run;
use stepwell_core::{dialect, tool};

/// What a run gives the app after one input: all of it, in one batch.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct Outputs {
    /// What to show, in order.
    pub events: Vec<Event>,
    /// What to do, in order.
    pub effects: Vec<Effect>,
    /// When the run wants to be woken with `timeout`, if nothing happens before.
    pub wake_at: Option<Timestamp>,
}

/// Something that the app is to do. Each has an id made from what it is for, and stays pending until it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Effect {
    /// Create a run at the backend, then answer with `run_created` or `run_not_created`.
    CreateRun {
        /// The effect's id.
        id: String,
        /// The conversation.
        thread_id: String,
        /// The run that the new one continues; a thread's first has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<String>,
    },
    /// Send the request; answer with `opened` and then the body's bytes and its end, or with `refused` or
    /// `connection_failed`.
    OpenStream {
        /// The effect's id.
        id: String,
        /// The request.
        request: HttpRequest,
    },
    /// Close the stream of this id, if it is open. Needs no answer.
    CloseStream {
        /// The id of the effect that opened it.
        id: String,
    },
    /// Ask the user; answer with `approve`, also with other arguments, or with `deny`.
    AskApproval {
        /// The effect's id.
        id: String,
        /// The call.
        invocation: ToolInvocation,
    },
    /// Run the tool; answer with `tool_finished` or `tool_failed`, at once or after a `tool_deferred`. Meanwhile it may say
    /// how far it is, with `tool_progress` and `tool_partial_result`, and ask the user, with `tool_asks`.
    RunTool {
        /// The effect's id.
        id: String,
        /// The call.
        invocation: ToolInvocation,
    },
    /// Ask the user what a running tool wants to know; answer with `answer` or `decline`.
    AskUser {
        /// The effect's id.
        id: String,
        /// The call that asks.
        invocation: ToolInvocation,
        /// What it asks.
        question: Question,
    },
    /// Give the tool the answer to the question that it asked under this id. Needs no answer.
    AnswerTool {
        /// The question's id.
        id: String,
        /// What the user said.
        answer: UserAnswer,
    },
    /// Stop the tool, or stop asking, under this id. Needs no answer; a late one is dropped.
    CancelTool {
        /// The id of the effect that began it.
        id: String,
    },
    /// Store the blocks and the checkpoint in one transaction; answer with `persisted` or `persist_failed`.
    Persist {
        /// The effect's id.
        id: String,
        /// The turn: the run id of its first hop.
        turn: String,
        /// Where the turn stands with these blocks.
        status: TurnStatus,
        /// The blocks, in sequence without a gap.
        blocks: Vec<Block>,
        /// What the run comes back from with them, by `reviveFrom`: stored in place of the checkpoint before.
        checkpoint: String,
        /// How the turn ended, with its last write.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        /// The same as JSON, for an app that keeps `TurnRecord`s by itself.
        #[serde(skip)]
        stored_outcome: Option<JsonValue>,
    },
    /// Say which messages the next request is to carry, since all do not fit the model's context; answer with
    /// `context_trimmed` or `context_not_trimmed`. Only with `ContextPolicy.Trim`.
    TrimContext {
        /// The effect's id.
        id: String,
        /// How many tokens the request would take.
        tokens: u64,
        /// How many it may take: the model's window, without what is kept for the answer.
        window: u64,
        /// The messages of the request, oldest first.
        messages: Vec<ContextMessage>,
    },
    /// Decode the typed answer, which fits its schema, into the app's own type; answer with `output_decoded` or
    /// `output_refused`. Only with `OutputType.decoded_by_host`. It may be asked again after a restore.
    DecodeOutput {
        /// The effect's id.
        id: String,
        /// The answer: any JSON.
        value: JsonValue,
    },
    /// Give the key, or the headers, that the next request is sent with; answer with `authorized` or `not_authorized`.
    /// Only with `Credentials.Host`, and then before each request.
    Authorize {
        /// The effect's id.
        id: String,
        /// The provider has refused what was given last, with a 401: it is to be got anew.
        rejected: bool,
    },
    /// Ask a hook of the app's; answer with `hook_answered`. Only with `RunConfig.hooks`. It may be asked again after a
    /// restore.
    RunHook {
        /// The effect's id.
        id: String,
        /// The hook's name. Empty if the configuration has it no more: answer that it failed.
        hook: String,
        /// What it looks at.
        subject: HookSubject,
    },
}

/// A message of a conversation that does not fit the model's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessage {
    /// The message.
    pub message_id: String,
    /// How many tokens it takes: an estimate, on the same scale as those of the other messages.
    pub tokens: u64,
}

/// An HTTP request for the app to send.
#[derive(Clone, PartialEq, Eq, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
#[uniffi::export(Debug, Display)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// The full address.
    pub url: String,
    /// The headers, names in lower case. One of them may hold the API key: do not log them.
    pub headers: Vec<HttpHeader>,
    /// The body: JSON.
    #[serde(serialize_with = "text")]
    pub body: Vec<u8>,
}

/// A body is JSON.
fn text<S: Serializer>(body: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(body))
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|header| &header.name).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

impl fmt::Display for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One header of a request.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug, Display)]
pub struct HttpHeader {
    /// Its name, in lower case.
    pub name: String,
    /// Its value. It may be the API key: do not log it.
    pub value: String,
}

/// A pair, as `fetch` takes it.
impl Serialize for HttpHeader {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.name, &self.value).serialize(to)
    }
}

impl fmt::Debug for HttpHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpHeader({}: …)", self.name)
    }
}

impl fmt::Display for HttpHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A call that is to be run, checked against its tool's schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    /// Its place in the run.
    pub call: CallKey,
    /// The provider's id for it.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// The arguments: a JSON text that fits the tool's schema, `{}` where the model sent nothing.
    pub arguments: JsonValue,
    /// The arguments just as the model wrote them.
    pub raw_arguments: String,
    /// The conversation.
    pub thread_id: String,
    /// The turn: the run id of its first hop.
    pub turn: String,
    /// The run of the hop that asks for the call.
    pub run_id: String,
    /// 1, and one more for each time that an idempotent tool is run again since its host died.
    pub attempt: u32,
}

/// A tool call's place: the hop that asked for it and its position among that hop's calls, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The hop.
    pub hop: u32,
    /// The position among the hop's calls.
    pub index: u32,
}

/// One finished piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// Its number in the turn: 0, 1, 2 … without a gap, and none is ever used for two contents.
    pub sequence: u64,
    /// The hop it belongs to.
    pub hop: u32,
    /// What it holds: a JSON object whose `type` is `text`, `reasoning`, `tool_use`, `approval`, `deferred`, `answer`, `tool_result`,
    /// `resumed`, `steering`, `message`, `messages`, `state` or `usage`.
    pub content: JsonValue,
}

/// Where a stored turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// It goes on.
    Streaming,
    /// It ended as it should.
    Complete,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// JSON text of what can always be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

impl From<run::Block> for Block {
    fn from(block: run::Block) -> Self {
        Self {
            sequence: block.sequence,
            hop: block.hop,
            content: JsonValue::of(&block.content),
        }
    }
}

impl From<run::ContextMessage> for ContextMessage {
    fn from(message: run::ContextMessage) -> Self {
        Self {
            message_id: message.id.into_string(),
            tokens: message.tokens,
        }
    }
}

impl From<run::ToolInvocation> for ToolInvocation {
    fn from(invocation: run::ToolInvocation) -> Self {
        let tool::Arguments { raw, value } = invocation.arguments;
        Self {
            call: invocation.call.into(),
            tool_call_id: invocation.tool_call_id.into_string(),
            name: invocation.name,
            arguments: JsonValue::of(&value),
            raw_arguments: raw,
            thread_id: invocation.thread_id.into_string(),
            turn: invocation.turn.into_string(),
            run_id: invocation.run_id.into_string(),
            attempt: invocation.attempt,
        }
    }
}

same!(
    TurnStatus = run::TurnStatus {
        Streaming,
        Complete,
        Failed,
        Cancelled
    }
);

impl From<stepwell_core::CallKey> for CallKey {
    fn from(key: stepwell_core::CallKey) -> Self {
        Self {
            hop: key.hop,
            index: key.index,
        }
    }
}

impl From<CallKey> for stepwell_core::CallKey {
    fn from(key: CallKey) -> Self {
        Self {
            hop: key.hop,
            index: key.index,
        }
    }
}

impl From<dialect::HttpRequest> for HttpRequest {
    fn from(request: dialect::HttpRequest) -> Self {
        let headers = request.headers.into_iter();
        Self {
            method: request.method.to_owned(),
            url: request.url,
            headers: headers
                .map(|(name, value)| HttpHeader { name, value })
                .collect(),
            body: request.body,
        }
    }
}

impl Effect {
    /// An effect of the core, with its id.
    #[must_use]
    pub fn new(id: run::EffectId, effect: run::Effect) -> Self {
        let id = id.to_string();
        match effect {
            run::Effect::CreateRun {
                thread_id,
                parent_run_id,
            } => Self::CreateRun {
                id,
                thread_id: thread_id.into_string(),
                parent_run_id: parent_run_id.map(stepwell_core::RunId::into_string),
            },
            run::Effect::OpenStream { request } => Self::OpenStream {
                id,
                request: request.into(),
            },
            run::Effect::CloseStream => Self::CloseStream { id },
            run::Effect::AskApproval { invocation } => Self::AskApproval {
                id,
                invocation: (*invocation).into(),
            },
            run::Effect::RunTool { invocation } => Self::RunTool {
                id,
                invocation: (*invocation).into(),
            },
            run::Effect::AskUser {
                invocation,
                question,
            } => Self::AskUser {
                id,
                invocation: (*invocation).into(),
                question: question.into(),
            },
            run::Effect::AnswerTool { answer } => Self::AnswerTool {
                id,
                answer: answer.into(),
            },
            run::Effect::CancelTool => Self::CancelTool { id },
            run::Effect::Persist {
                turn,
                status,
                outcome,
                blocks,
                checkpoint,
            } => Self::Persist {
                id,
                turn: turn.into_string(),
                status: status.into(),
                blocks: blocks.into_iter().map(Into::into).collect(),
                checkpoint,
                stored_outcome: outcome.as_ref().map(JsonValue::of),
                outcome: outcome.map(Outcome::from),
            },
            run::Effect::TrimContext { overflow } => Self::TrimContext {
                id,
                tokens: overflow.tokens,
                window: overflow.window,
                messages: overflow.messages.into_iter().map(Into::into).collect(),
            },
            run::Effect::DecodeOutput { value } => Self::DecodeOutput {
                id,
                value: JsonValue::of(&value),
            },
            run::Effect::Authorize { rejected } => Self::Authorize { id, rejected },
            run::Effect::RunHook { hook, subject } => Self::RunHook {
                id,
                hook,
                subject: (*subject).into(),
            },
        }
    }
}
