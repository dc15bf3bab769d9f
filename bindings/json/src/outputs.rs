//! What a run gives after one input, in JSON. AG-UI events are those of the protocol, unchanged.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::conversation::ToolCallStatus;
use stepwell_core::event::{Event as AgUi, Interrupt, Message};
use stepwell_core::run::{self, EffectId, Output, RunEvent};
use stepwell_core::tool::{OwnedChange, ToolFailureKind, ToolResult};
use stepwell_core::{CallKey, event};

/// All that came of one input.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    events: Vec<Event>,
    effects: Vec<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_at_ms: Option<u64>,
}

impl Outputs {
    /// Takes what waits in the machine.
    pub fn drain(machine: &mut run::RunMachine) -> Self {
        let mut outputs = Self::default();
        while let Some(output) = machine.poll_output() {
            match output {
                Output::Event(event) => outputs.events.push(event.into()),
                Output::Effect(id, effect) => outputs.effects.push(Effect::new(id, effect)),
            }
        }
        outputs.wake_at_ms = machine.poll_timeout().map(|at| at.0);
        outputs
    }

    /// What came later.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
        self.effects.append(&mut later.effects);
        self.wake_at_ms = later.wake_at_ms;
    }
}

#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Event {
    Started {
        thread_id: String,
        run_id: String,
    },
    HopStarted {
        hop: u32,
        run_id: String,
    },
    ToolCall {
        call: CallKey,
        tool_call_id: String,
        name: String,
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CallResult>,
    },
    PartialArguments {
        call: CallKey,
        tool_call_id: String,
        changes: Vec<OwnedChange>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stopped: Option<String>,
    },
    Retrying {
        attempt: u32,
        delay_ms: u64,
        reason: String,
    },
    Interrupted {
        interrupts: Vec<Interrupt>,
    },
    AnswerDropped {
        effect: String,
    },
    Warning {
        message: String,
    },
    Completed {
        outcome: Outcome,
    },
    UnknownToolCall {
        tool_call_id: String,
    },
    SteeringTaken {
        message_id: String,
        hop: u32,
    },
    SteeringRefused {
        message: Box<Message>,
        reason: String,
        explanation: String,
    },
    WaitingForNetwork {
        up_to_ms: u64,
    },
    StreamResumed {
        hop: u32,
        attempt: u32,
    },
    ContextNearlyFull {
        tokens: u64,
        window: u64,
    },
    ContextTrimmed {
        left_out: Vec<String>,
        tokens: u64,
    },
    /// As the protocol has it.
    #[serde(untagged)]
    AgUi(Box<AgUi>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum CallResult {
    Finished { content: event::MessageContent },
    Failed { kind: String, message: String },
}

impl From<ToolResult> for CallResult {
    fn from(result: ToolResult) -> Self {
        match result {
            Ok(output) => Self::Finished {
                content: output.content,
            },
            Err(failure) => Self::Failed {
                kind: failure_kind(failure.kind),
                message: failure.message,
            },
        }
    }
}

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        match event {
            RunEvent::AgUi(event) => Self::AgUi(Box::new(event)),
            RunEvent::Started { thread_id, run_id } => Self::Started {
                thread_id: thread_id.into_string(),
                run_id: run_id.into_string(),
            },
            RunEvent::HopStarted { hop, run_id } => Self::HopStarted {
                hop,
                run_id: run_id.into_string(),
            },
            RunEvent::ToolCall(update) => Self::ToolCall {
                call: update.call,
                tool_call_id: update.tool_call_id.into_string(),
                name: update.name,
                status: status(update.status),
                result: update.result.map(Into::into),
            },
            RunEvent::PartialArguments(update) => Self::PartialArguments {
                call: update.call,
                tool_call_id: update.tool_call_id.into_string(),
                changes: update.changes,
                stopped: update.stopped,
            },
            RunEvent::Retrying {
                attempt,
                delay_ms,
                reason,
            } => Self::Retrying {
                attempt,
                delay_ms,
                reason,
            },
            RunEvent::Interrupted { interrupts } => Self::Interrupted { interrupts },
            RunEvent::AnswerDropped { effect } => Self::AnswerDropped {
                effect: effect.to_string(),
            },
            RunEvent::Warning { message } => Self::Warning { message },
            RunEvent::Completed(outcome) => Self::Completed {
                outcome: Outcome::from(&outcome),
            },
            RunEvent::UnknownToolCall { tool_call_id } => Self::UnknownToolCall {
                tool_call_id: tool_call_id.into_string(),
            },
            RunEvent::SteeringTaken { message_id, hop } => Self::SteeringTaken {
                message_id: message_id.into_string(),
                hop,
            },
            RunEvent::SteeringRefused { message, reason } => Self::SteeringRefused {
                message,
                explanation: reason.to_string(),
                reason: word(&reason),
            },
            RunEvent::WaitingForNetwork { up_to_ms } => Self::WaitingForNetwork { up_to_ms },
            RunEvent::StreamResumed { hop, attempt } => Self::StreamResumed { hop, attempt },
            RunEvent::ContextNearlyFull { tokens, window } => {
                Self::ContextNearlyFull { tokens, window }
            }
            RunEvent::ContextTrimmed { left_out, tokens } => Self::ContextTrimmed {
                left_out: left_out.into_iter().map(|id| id.into_string()).collect(),
                tokens,
            },
        }
    }
}

fn status(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::Pending => "pending",
        ToolCallStatus::AwaitingApproval => "awaitingApproval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
    }
}

fn failure_kind(kind: ToolFailureKind) -> String {
    word(&kind)
}

/// How a turn ended, and what kept it from a whole answer, if something did.
#[derive(Debug, Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    kind: OutcomeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<run::Problem>,
}

impl From<&run::Outcome> for Outcome {
    fn from(outcome: &run::Outcome) -> Self {
        Self {
            kind: outcome.into(),
            problem: outcome.problem(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
enum OutcomeKind {
    /// As it should.
    Success,
    /// The model stopped before its answer was whole.
    Incomplete {
        /// Why.
        reason: String,
        /// The same in words.
        message: String,
    },
    /// At one of the run's limits.
    LimitReached {
        /// The limit, with its `kind`.
        limit: Value,
        /// The same in words.
        message: String,
    },
    /// The person stopped it.
    Cancelled,
    /// The model's answer was cut off.
    Truncated,
    /// It failed.
    Failed {
        /// Why, with the kind as `failure`.
        failure: Value,
        /// The same in words.
        message: String,
        /// Whether the same may go well another time.
        transient: bool,
    },
}

impl From<&run::Outcome> for OutcomeKind {
    fn from(outcome: &run::Outcome) -> Self {
        match outcome {
            run::Outcome::Success => Self::Success,
            run::Outcome::Incomplete { reason } => Self::Incomplete {
                message: reason.to_string(),
                reason: word(reason),
            },
            run::Outcome::Cancelled => Self::Cancelled,
            run::Outcome::Truncated => Self::Truncated,
            run::Outcome::LimitReached { limit } => Self::LimitReached {
                message: limit.to_string(),
                limit: in_camel_case(value(limit)),
            },
            run::Outcome::Failed { failure } => Self::Failed {
                message: failure.to_string(),
                transient: failure.is_transient(),
                failure: in_camel_case(value(failure)),
            },
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Effect {
    CreateRun {
        id: String,
        thread_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<String>,
    },
    OpenStream {
        id: String,
        request: Request,
    },
    CloseStream {
        id: String,
    },
    AskApproval {
        id: String,
        invocation: Invocation,
    },
    RunTool {
        id: String,
        invocation: Invocation,
    },
    CancelTool {
        id: String,
    },
    Persist {
        id: String,
        turn: String,
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        blocks: Vec<run::Block>,
        snapshot: String,
    },
    TrimContext {
        id: String,
        tokens: u64,
        window: u64,
        messages: Vec<ContextMessage>,
    },
}

#[derive(Debug, Serialize)]
struct Request {
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    call: CallKey,
    tool_call_id: String,
    name: String,
    arguments: Value,
    raw_arguments: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextMessage {
    message_id: String,
    tokens: u64,
}

impl From<run::ToolInvocation> for Invocation {
    fn from(invocation: run::ToolInvocation) -> Self {
        Self {
            call: invocation.call,
            tool_call_id: invocation.tool_call_id.into_string(),
            name: invocation.name,
            arguments: value(&invocation.arguments.value),
            raw_arguments: invocation.arguments.raw,
        }
    }
}

impl Effect {
    fn new(id: EffectId, effect: run::Effect) -> Self {
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
                request: Request {
                    method: request.method,
                    url: request.url,
                    headers: request.headers,
                    body: String::from_utf8_lossy(&request.body).into_owned(),
                },
            },
            run::Effect::CloseStream => Self::CloseStream { id },
            run::Effect::AskApproval { invocation } => Self::AskApproval {
                id,
                invocation: invocation.into(),
            },
            run::Effect::RunTool { invocation } => Self::RunTool {
                id,
                invocation: invocation.into(),
            },
            run::Effect::CancelTool => Self::CancelTool { id },
            run::Effect::Persist {
                turn,
                status,
                outcome,
                blocks,
                snapshot,
            } => Self::Persist {
                id,
                turn: turn.into_string(),
                status: match status {
                    run::TurnStatus::Streaming => "streaming",
                    run::TurnStatus::Complete => "complete",
                    run::TurnStatus::Failed => "failed",
                    run::TurnStatus::Cancelled => "cancelled",
                },
                outcome: outcome.as_ref().map(Outcome::from),
                blocks,
                snapshot,
            },
            run::Effect::TrimContext { overflow } => {
                let message = |message: run::ContextMessage| ContextMessage {
                    message_id: message.id.into_string(),
                    tokens: message.tokens,
                };
                Self::TrimContext {
                    id,
                    tokens: overflow.tokens,
                    window: overflow.window,
                    messages: overflow.messages.into_iter().map(message).collect(),
                }
            }
        }
    }
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// The name of an enum's variant in JavaScript's spelling.
fn word(variant: &impl std::fmt::Debug) -> String {
    let name = format!("{variant:?}");
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Names of fields, and of variants, in JavaScript's spelling. Only for values without any data of the app's.
fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| {
                let is_tag = matches!(name.as_str(), "failure" | "kind" | "deadline");
                let value = match value {
                    Value::String(text) if is_tag => camel(&text).into(),
                    other => in_camel_case(other),
                };
                (camel(&name), value)
            };
            Value::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        text.push_str(&first.to_ascii_uppercase());
        text.push_str(rest);
    }
    text
}

/// A state's name.
#[must_use]
pub fn state(state: run::StateKind) -> &'static str {
    match state {
        run::StateKind::Idle => "idle",
        run::StateKind::Opening => "opening",
        run::StateKind::Waiting => "waiting",
        run::StateKind::Streaming => "streaming",
        run::StateKind::ExecutingTools => "executingTools",
        run::StateKind::Interrupted => "interrupted",
        run::StateKind::Completed => "completed",
    }
}
