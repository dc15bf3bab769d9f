//! What can be said to a run, and asked of it, as one JSON object each: `{"input": "toolFinished", "effect": …}`.

use crate::read::read;
use crate::refused::Refused;
use crate::start::Start;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::CallKey;
use stepwell_core::event::{Message, MessageContent, ResumeEntry};
use stepwell_core::journal::Digest;
use stepwell_core::run::{self, Authorization, Decision, EffectId, Input, Refusal, RunMachine};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput};
use stepwell_ffi::{GuardedRun, HookAnswer, Outcome, StateKind};

/// An input: each of the core's, but for the bytes of a stream.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Told {
    /// A [`Start`], which is read by itself: what is wrong in it is told of it.
    Start {
        start: Value,
    },
    RunCreated {
        effect: String,
        run_id: String,
    },
    RunNotCreated {
        effect: String,
        message: String,
    },
    Opened {
        effect: String,
        content_type: Option<String>,
    },
    /// `body` is text: what a provider says of an error is JSON or prose.
    Refused {
        effect: String,
        status: u16,
        #[serde(default)]
        body: String,
        retry_after_ms: Option<u64>,
    },
    ConnectionFailed {
        effect: String,
        message: String,
    },
    Ended {
        effect: String,
    },
    Lost {
        effect: String,
        message: String,
    },
    /// `content` is text, or AG-UI content parts.
    ToolFinished {
        effect: String,
        content: MessageContent,
    },
    ToolFailed {
        effect: String,
        message: String,
        #[serde(default)]
        kind: FailureKind,
    },
    ToolDeferred {
        effect: String,
    },
    ToolProgress {
        effect: String,
        fraction: Option<f64>,
        message: Option<String>,
    },
    /// `content` is text, or AG-UI content parts.
    ToolPartialResult {
        effect: String,
        content: MessageContent,
    },
    ToolAsks {
        effect: String,
        number: u32,
        question: run::Question,
    },
    Answer {
        effect: String,
        value: Value,
    },
    Decline {
        effect: String,
        reason: Option<String>,
    },
    Approve {
        effect: String,
        /// In the place of the model's.
        arguments: Option<Value>,
    },
    Deny {
        effect: String,
        reason: Option<String>,
    },
    ContextTrimmed {
        effect: String,
        keep: Vec<String>,
        summary: Option<String>,
    },
    ContextNotTrimmed {
        effect: String,
        message: String,
    },
    OutputDecoded {
        effect: String,
    },
    OutputRefused {
        effect: String,
        reason: String,
    },
    Authorized {
        effect: String,
        key: Option<String>,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    NotAuthorized {
        effect: String,
        message: String,
    },
    HookAnswered {
        effect: String,
        answer: HookAnswer,
    },
    Persisted {
        effect: String,
    },
    PersistFailed {
        effect: String,
        message: String,
    },
    Resume {
        answers: Vec<ResumeEntry>,
    },
    Cancel {},
    CancelCall {
        call: CallKey,
    },
    Steer {
        message: Box<Message>,
    },
    Shown {
        messages: Vec<Message>,
    },
    EnteredBackground {},
    EnteredForeground {},
    NetworkLost {},
    NetworkAvailable {},
    Dispose {},
    Timeout {},
}

/// What a tool itself can say of its failure.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FailureKind {
    #[default]
    Error,
    Panicked,
    TimedOut,
}

/// A question, whose answer changes nothing.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Question {
    State {},
    Outcome {},
    Interrupts {},
    Text {},
    ShownText {},
    Messages {},
    SharedState {},
    Output {},
    PartialOutput {},
    PartialArguments { tool_call_id: String },
    AwaitedResult { tool_call_id: String },
    PollTimeout {},
    IsResting {},
    IsDisposed {},
    Usage {},
    Hop {},
    ThreadId {},
    Turn {},
    RunId {},
    Digest {},
    Checkpoint {},
    Snapshot {},
}

pub(crate) fn id(effect: &str) -> Result<EffectId, Refused> {
    let parsed = effect.parse();
    parsed.map_err(|error| Refused::argument("the effect", error))
}

impl Told {
    /// The core's input for this run.
    pub(crate) fn into_core(self, run: &GuardedRun) -> Result<Input<'static>, Refused> {
        Ok(match self {
            Self::Start { start } => {
                let start: Start = read("the start", &start.to_string())?;
                Input::Start(Box::new(start.into_core(&*run.config()?)?))
            }
            Self::RunCreated { effect, run_id } => Input::RunCreated {
                effect: id(&effect)?,
                run_id: run_id.into(),
            },
            Self::RunNotCreated { effect, message } => Input::RunNotCreated {
                effect: id(&effect)?,
                message,
            },
            Self::Opened {
                effect,
                content_type,
            } => Input::Opened {
                effect: id(&effect)?,
                content_type,
            },
            Self::Refused {
                effect,
                status,
                body,
                retry_after_ms,
            } => Input::Refused {
                effect: id(&effect)?,
                refusal: Refusal {
                    status,
                    retry_after: retry_after_ms.map(Duration::from_millis),
                    body: body.into_bytes(),
                },
            },
            Self::ConnectionFailed { effect, message } => Input::ConnectionFailed {
                effect: id(&effect)?,
                message,
            },
            Self::Ended { effect } => Input::Ended {
                effect: id(&effect)?,
            },
            Self::Lost { effect, message } => Input::Lost {
                effect: id(&effect)?,
                message,
            },
            Self::ToolFinished { effect, content } => Input::ToolFinished {
                effect: id(&effect)?,
                result: Ok(ToolOutput { content }),
            },
            Self::ToolFailed {
                effect,
                message,
                kind,
            } => Input::ToolFinished {
                effect: id(&effect)?,
                result: Err(ToolFailure::new(kind.into(), message)),
            },
            Self::ToolDeferred { effect } => Input::ToolDeferred {
                effect: id(&effect)?,
            },
            Self::ToolProgress {
                effect,
                fraction,
                message,
            } => Input::ToolProgress {
                effect: id(&effect)?,
                fraction,
                message,
            },
            Self::ToolPartialResult { effect, content } => Input::ToolPartialResult {
                effect: id(&effect)?,
                output: ToolOutput { content },
            },
            Self::ToolAsks {
                effect,
                number,
                question,
            } => Input::ToolAsks {
                effect: id(&effect)?,
                number,
                question,
            },
            Self::Answer { effect, value } => Input::UserAnswered {
                effect: id(&effect)?,
                answer: run::UserAnswer::Given { value },
            },
            Self::Decline { effect, reason } => Input::UserAnswered {
                effect: id(&effect)?,
                answer: run::UserAnswer::Declined { reason },
            },
            Self::Approve { effect, arguments } => Input::Decided {
                effect: id(&effect)?,
                decision: match arguments {
                    None => Decision::Granted,
                    Some(arguments) => Decision::Edited {
                        arguments: arguments.to_string(),
                    },
                },
            },
            Self::Deny { effect, reason } => Input::Decided {
                effect: id(&effect)?,
                decision: Decision::Denied { reason },
            },
            Self::ContextTrimmed {
                effect,
                keep,
                summary,
            } => Input::ContextTrimmed {
                effect: id(&effect)?,
                keep: keep.into_iter().map(Into::into).collect(),
                summary,
            },
            Self::ContextNotTrimmed { effect, message } => Input::ContextNotTrimmed {
                effect: id(&effect)?,
                message,
            },
            Self::OutputDecoded { effect } => Input::OutputDecoded {
                effect: id(&effect)?,
            },
            Self::OutputRefused { effect, reason } => Input::OutputRefused {
                effect: id(&effect)?,
                reason,
            },
            Self::Authorized {
                effect,
                key,
                headers,
            } => Input::Authorized {
                effect: id(&effect)?,
                authorization: Authorization {
                    key: key.map(Into::into),
                    headers: headers.into_iter().collect(),
                },
            },
            Self::NotAuthorized { effect, message } => Input::NotAuthorized {
                effect: id(&effect)?,
                message,
            },
            Self::HookAnswered { effect, answer } => Input::HookAnswered {
                effect: id(&effect)?,
                answer: answer.into(),
            },
            Self::Persisted { effect } => Input::Persisted {
                effect: id(&effect)?,
            },
            Self::PersistFailed { effect, message } => Input::PersistFailed {
                effect: id(&effect)?,
                message,
            },
            Self::Resume { answers } => Input::Resume(answers),
            Self::Cancel {} => Input::Cancel,
            Self::CancelCall { call } => Input::CancelCall { call },
            Self::Steer { message } => Input::Steer(message),
            Self::Shown { messages } => Input::Shown(messages),
            Self::EnteredBackground {} => Input::EnteredBackground,
            Self::EnteredForeground {} => Input::EnteredForeground,
            Self::NetworkLost {} => Input::NetworkLost,
            Self::NetworkAvailable {} => Input::NetworkAvailable,
            Self::Dispose {} => Input::Dispose,
            Self::Timeout {} => Input::Timeout,
        })
    }
}

impl From<FailureKind> for ToolFailureKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Error => Self::Error,
            FailureKind::Panicked => Self::Panicked,
            FailureKind::TimedOut => Self::TimedOut,
        }
    }
}

/// An id as text; empty where there is none yet.
fn text(id: Option<&impl ToString>) -> Value {
    id.map_or_else(String::new, ToString::to_string).into()
}

impl Question {
    /// The answer, but for the snapshot: a journal takes part in that.
    pub(crate) fn answer(&self, machine: &RunMachine) -> Option<Value> {
        Some(match self {
            Self::State {} => json!(StateKind::from(machine.state())),
            Self::Outcome {} => json!(machine.outcome().cloned().map(Outcome::from)),
            Self::Interrupts {} => json!(machine.interrupts()),
            Self::Text {} => machine.conversation().text().into(),
            Self::ShownText {} => machine.shown_text().into(),
            Self::Messages {} => json!(machine.conversation().messages()),
            Self::SharedState {} => json!(machine.conversation().shared_state()),
            Self::Output {} => json!(machine.output()),
            Self::PartialOutput {} => json!(machine.partial_output().map(|output| output.value())),
            Self::PartialArguments { tool_call_id } => {
                let arguments = machine.partial_arguments(tool_call_id);
                json!(arguments.map(|arguments| arguments.value()))
            }
            Self::AwaitedResult { tool_call_id } => {
                let effect = machine.awaited_result(tool_call_id);
                json!(effect.map(|effect| effect.to_string()))
            }
            Self::PollTimeout {} => json!(machine.poll_timeout().map(|at| at.0)),
            Self::IsResting {} => machine.is_resting().into(),
            Self::IsDisposed {} => machine.is_disposed().into(),
            Self::Usage {} => json!(machine.usage()),
            Self::Hop {} => machine.hop().into(),
            Self::ThreadId {} => text(machine.thread_id()),
            Self::Turn {} => text(machine.turn()),
            Self::RunId {} => text(machine.run_id()),
            Self::Digest {} => Digest::of_run(machine).to_string().into(),
            Self::Checkpoint {} => json!(machine.checkpoint()),
            Self::Snapshot {} => return None,
        })
    }
}
