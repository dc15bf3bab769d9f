//! The inputs and queries of a run, as one JSON object each: `{"input": "toolFinished", "effect": …}`.

use crate::read::read;
use crate::refused::Refused;
use crate::start::Start;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::event::{Message, MessageContent, ResumeEntry};
use stepwell_core::journal::Digest;
use stepwell_core::run::{self, Authorization, Decision, EffectId, Input, Refusal, RunMachine};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput};
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, MessageId, RunId, Timestamp};
use stepwell_ffi::{Compaction, GuardedRun, HookAnswer, ModelName, Outcome, StateKind};

/// Defines the inputs, each by its name, in brackets the effect that it answers, its other members, and the core's
/// input.
macro_rules! told {
    ($run:ident; $(
        $(#[$doc:meta])*
        $name:ident[$($effect:ident)?] { $($(#[$meta:meta])* $member:ident: $ty:ty),* } => $input:expr,
    )*) => {
        /// An input of the core, except for the bytes of a stream.
        #[derive(Deserialize)]
        #[serde(
            rename_all = "camelCase",
            rename_all_fields = "camelCase",
            deny_unknown_fields
        )]
        pub(crate) enum Told {
            $( $(#[$doc])* $name { $($effect: String,)? $($(#[$meta])* $member: $ty),* }, )*
        }

        impl Told {
            /// Converts to the core's input for this run.
            pub(crate) fn into_core(self, $run: &GuardedRun) -> Result<Input<'static>, Refused> {
                Ok(match self {
                    $( Self::$name { $($effect,)? $($member),* } => {
                        $(let $effect = id(&$effect)?;)?
                        $input
                    } )*
                })
            }
        }
    };
}

told! {
    run;
    /// A [`Start`], which is parsed separately, so that errors name it.
    Start[] { start: Value } => {
        let start: Start = read("the start", &start.to_string())?;
        Input::Start(Box::new(start.into_core(&*run.config()?)?))
    },
    RunCreated[effect] { run_id: RunId } => Input::RunCreated { effect, run_id },
    RunNotCreated[effect] { message: String } => Input::RunNotCreated { effect, message },
    Opened[effect] { content_type: Option<String> } => Input::Opened { effect, content_type },
    /// `body` is text: a provider's error is JSON or prose.
    Refused[effect] { status: u16, #[serde(default)] body: String, retry_after_ms: Option<u64> } => {
        let retry_after = retry_after_ms.map(Duration::from_millis);
        let body = body.into_bytes();
        let refusal = Refusal { status, retry_after, body };
        Input::Refused { effect, refusal }
    },
    ConnectionFailed[effect] { message: String } => Input::ConnectionFailed { effect, message },
    Ended[effect] {} => Input::Ended { effect },
    Lost[effect] { message: String } => Input::Lost { effect, message },
    /// `content` is text, or AG-UI content parts.
    ToolFinished[effect] { content: MessageContent } => Input::ToolFinished {
        effect,
        result: Ok(ToolOutput { content }),
    },
    /// `message` is for the model. If it is empty, the model is told only that the tool failed.
    ToolFailed[effect] { message: String, #[serde(default)] kind: FailureKind } => Input::ToolFinished {
        effect,
        result: Err(failure(message, kind)),
    },
    ToolDeferred[effect] {} => Input::ToolDeferred { effect },
    ToolProgress[effect] { fraction: Option<f64>, message: Option<String> }
        => Input::ToolProgress { effect, fraction, message },
    /// `content` is text, or AG-UI content parts.
    ToolPartialResult[effect] { content: MessageContent } => Input::ToolPartialResult {
        effect,
        output: ToolOutput { content },
    },
    ToolAsks[effect] { number: u32, question: run::Question } => Input::ToolAsks { effect, number, question },
    Answer[effect] { value: Value } => answered(effect, run::UserAnswer::Given { value }),
    Decline[effect] { reason: Option<String> } => answered(effect, run::UserAnswer::Declined { reason }),
    /// `arguments` replace the model's.
    Approve[effect] { arguments: Option<Value> } => {
        let arguments = arguments.map(|arguments| arguments.to_string());
        let edited = arguments.map(|arguments| Decision::Edited { arguments });
        decided(effect, edited.unwrap_or(Decision::Granted))
    },
    Deny[effect] { reason: Option<String> } => decided(effect, Decision::Denied { reason }),
    ContextTrimmed[effect] { keep: Vec<MessageId>, summary: Option<String> }
        => Input::ContextTrimmed { effect, keep, summary },
    ContextNotTrimmed[effect] { message: String } => Input::ContextNotTrimmed { effect, message },
    ModelChosen[effect] { model: u32 } => Input::ModelChosen { effect, model },
    ModelNotChosen[effect] { message: String } => Input::ModelNotChosen { effect, message },
    OutputDecoded[effect] {} => Input::OutputDecoded { effect },
    OutputRefused[effect] { reason: String } => Input::OutputRefused { effect, reason },
    Authorized[effect] { key: Option<String>, #[serde(default)] headers: BTreeMap<String, String> } => {
        let (key, headers) = (key.map(Into::into), headers.into_iter().collect());
        let authorization = Authorization { key, headers };
        Input::Authorized { effect, authorization }
    },
    NotAuthorized[effect] { message: String } => Input::NotAuthorized { effect, message },
    HookAnswered[effect] { answer: HookAnswer } => Input::HookAnswered { effect, answer: answer.into() },
    Persisted[effect] {} => Input::Persisted { effect },
    PersistFailed[effect] { message: String } => Input::PersistFailed { effect, message },
    Resume[] { answers: Vec<ResumeEntry> } => Input::Resume(answers),
    Cancel[] {} => Input::Cancel,
    CancelCall[] { call: CallKey } => Input::CancelCall { call },
    Steer[] { message: Box<Message> } => Input::Steer(message),
    Shown[] { messages: Vec<Message> } => Input::Shown(messages),
    EnteredBackground[] {} => Input::EnteredBackground,
    EnteredForeground[] {} => Input::EnteredForeground,
    NetworkLost[] {} => Input::NetworkLost,
    NetworkAvailable[] {} => Input::NetworkAvailable,
    ModelResting[] { model: u32, until_ms: u64 } => Input::ModelResting { model, until: Timestamp(until_ms) },
    Dispose[] {} => Input::Dispose,
    Timeout[] {} => Input::Timeout,
}

fn answered(effect: EffectId, answer: run::UserAnswer) -> Input<'static> {
    Input::UserAnswered { effect, answer }
}

fn decided(effect: EffectId, decision: Decision) -> Input<'static> {
    Input::Decided { effect, decision }
}

/// Returns the failure of a tool, whose message may be hidden from the model.
fn failure(message: String, kind: FailureKind) -> ToolFailure {
    let message = match &*message {
        "" => "the tool failed because of a mistake in its code".to_owned(),
        _ => message,
    };
    ToolFailure::new(kind.into(), message)
}

/// The kinds of failure that a tool itself can report.
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
    Compaction {},
    Output {},
    PartialOutput {},
    PartialArguments {
        tool_call_id: String,
    },
    AwaitedResult {
        tool_call_id: String,
    },
    PollTimeout {},
    IsResting {},
    IsDisposed {},
    Usage {},
    Hop {},
    /// The model that the run asks now.
    Model {},
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

impl From<FailureKind> for ToolFailureKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Error => Self::Error,
            FailureKind::Panicked => Self::Panicked,
            FailureKind::TimedOut => Self::TimedOut,
        }
    }
}

/// Returns an id as text; empty if there is none yet.
fn text(id: Option<&impl ToString>) -> Value {
    id.map_or_else(String::new, ToString::to_string).into()
}

/// Returns what requests no longer carry of a conversation, if they do not carry all.
pub(crate) fn compaction(transcript: &Transcript) -> Option<Compaction> {
    let compaction = transcript.compaction();
    (!compaction.is_none()).then(|| compaction.clone().into())
}

impl Question {
    /// Returns the answer, except for the snapshot, which the journal records.
    pub(crate) fn answer(&self, machine: &RunMachine) -> Option<Value> {
        Some(match self {
            Self::State {} => json!(StateKind::from(machine.state())),
            Self::Outcome {} => json!(machine.outcome().cloned().map(Outcome::from)),
            Self::Interrupts {} => json!(machine.interrupts()),
            Self::Text {} => machine.transcript().text().into(),
            Self::ShownText {} => machine.shown_text().into(),
            Self::Messages {} => json!(machine.transcript().messages()),
            Self::SharedState {} => json!(machine.transcript().shared_state()),
            Self::Compaction {} => json!(compaction(machine.transcript())),
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
            Self::Model {} => {
                let asked = machine.config();
                json!(asked.map(|config| ModelName::from(run::ModelName::of(&config.endpoint))))
            }
            Self::ThreadId {} => text(machine.thread_id()),
            Self::Turn {} => text(machine.turn()),
            Self::RunId {} => text(machine.run_id()),
            Self::Digest {} => Digest::of_run(machine).to_string().into(),
            Self::Checkpoint {} => json!(machine.checkpoint()),
            Self::Snapshot {} => return None,
        })
    }
}
