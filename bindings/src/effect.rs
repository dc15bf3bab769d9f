use crate::event::Event;
use crate::hook::HookSubject;
use crate::json_value::JsonValue;
use crate::model_choice::HopContext;
use crate::outcome::Outcome;
use crate::question::{Question, UserAnswer};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use stepwell_core::{dialect, run};
use stepwell_mirror::mirror;

/// The outputs of a run after one input: all of them, in one batch.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct Outputs {
    /// The events to show, in order.
    pub events: Vec<Event>,
    /// The effects to carry out, in order.
    pub effects: Vec<Effect>,
    /// When the run wants to be woken with `timeout`, if no input comes before.
    pub wake_at: Option<Timestamp>,
}

mirror! {
    /// An action for the app to carry out. Each has an id derived from its purpose, and stays pending until it is
    /// answered.
    #[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    #[mirror(stepwell_core::run::Effect, with(id: String = "The effect's id."))]
    pub enum Effect {
        CloseStream {
            /// The id of the effect that opened the stream.
            id,
        },
        /// Ask the user; answer with `approve`, also with other arguments, or with `deny`.
        AskApproval,
        /// Run the tool; answer with `tool_finished` or `tool_failed`, at once or after a `tool_deferred`. Meanwhile
        /// the tool may report its progress, with `tool_progress` and `tool_partial_result`, and ask the user, with
        /// `tool_asks`.
        RunTool,
        /// Ask the user what a running tool wants to know; answer with `answer` or `decline`.
        AskUser,
        AnswerTool {
            /// The question's id.
            id,
        },
        CancelTool {
            /// The id of the effect that began the work.
            id,
        },
        Persist {
            - outcome,
            /// The checkpoint to revive the run from, together with the blocks, by `reviveFrom`: replaces the
            /// checkpoint before.
            checkpoint,
            /// How the turn ended, with its last write.
            outcome: Option<Outcome> = outcome.clone().map(Outcome::from),
            /// The same outcome as JSON, for an app that keeps `TurnRecord`s by itself.
            #[serde(skip)]
            stored_outcome: Option<JsonValue> = outcome.as_ref().map(JsonValue::of),
        },
        TrimContext {
            - overflow,
            /// The number of tokens that the request would take.
            tokens: u64 = overflow.tokens,
            /// The number of tokens that the request may take: the model's window, without what is reserved for the
            /// answer.
            window: u64 = overflow.window,
            /// The messages of the request, oldest first.
            messages: Vec<ContextMessage> = overflow.messages.into_iter().map(Into::into).collect(),
        },
        ChooseModel {
            - context,
            /// What the choice depends on.
            context: HopContext = context.into(),
        },
        DecodeOutput {
            /// The answer: any JSON.
            value,
        },
    }

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ContextMessage, first(message_id))]
    pub struct ContextMessage {
        - id,
        /// The message.
        message_id: String = id.into_string(),
    }

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ToolInvocation)]
    pub struct ToolInvocation {
        /// The arguments: a JSON text that fits the tool's schema, `{}` where the model sent nothing.
        arguments: JsonValue = JsonValue::of(&arguments.value),
        /// The arguments exactly as the model wrote them.
        raw_arguments: String = arguments.raw,
        /// The conversation.
        thread_id,
        /// The run of the hop that asks for the call.
        run_id,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Block)]
    pub struct Block {
        /// The content: a JSON object whose `type` is `text`, `reasoning`, `tool_use`, `approval`, `deferred`,
        /// `answer`, `tool_result`, `resumed`, `steering`, `message`, `messages`, `state`, `model_changed` or `usage`.
        content,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::TurnStatus, both)]
    pub enum TurnStatus;
}

impl Effect {
    /// Converts an effect of the core, with its id.
    #[must_use]
    pub fn new(id: run::EffectId, effect: run::Effect) -> Self {
        Self::from_core(id.to_string(), effect)
    }
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
    /// The headers, with names in lower case. One of them may hold the API key: do not log them.
    pub headers: Vec<HttpHeader>,
    /// The body: JSON.
    #[serde(serialize_with = "text")]
    pub body: Vec<u8>,
}

/// Writes a body, which is JSON, as text.
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
    /// The name, in lower case.
    pub name: String,
    /// The value. It may be the API key: do not log it.
    pub value: String,
}

/// Writes a header as a pair, as `fetch` takes it.
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

mirror! {
    /// The position of a tool call: the hop that asked for the call, and the index among that hop's calls, both from 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::CallKey, own, both)]
    pub struct CallKey {
        /// The hop.
        hop: u32,
        /// The index among the hop's calls.
        index: u32,
    }
}

/// Returns the JSON text of a value that can always be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
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
