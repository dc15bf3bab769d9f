use super::call::Decision;
use super::credentials::Authorization;
use super::effect_id::EffectId;
use super::hook::HookAnswer;
use super::question::{Question, UserAnswer};
use super::turn_options::TurnOptions;
use crate::event::{Message, ResumeEntry};
use crate::tool::{ToolOutput, ToolResult};
use crate::wire::as_text;
use crate::{CallKey, MessageId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// An input of a run, from the host. A [journal](crate::journal) holds inputs in their serde form, in which bytes are a
/// string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Input<'a> {
    /// Starts the turn.
    Start(Box<Start>),
    /// The backend created a run.
    RunCreated {
        /// The effect that this answers.
        effect: EffectId,
        /// The run's id.
        run_id: RunId,
    },
    /// The backend did not create a run.
    RunNotCreated {
        /// The effect that this answers.
        effect: EffectId,
        /// The reason.
        message: String,
    },
    /// The provider answered with a 2xx status. The body follows.
    Opened {
        /// The effect that this answers.
        effect: EffectId,
        /// The `Content-Type` of the answer, if it has one.
        content_type: Option<String>,
    },
    /// The provider answered with any other status.
    Refused {
        /// The effect that this answers.
        effect: EffectId,
        /// The answer.
        refusal: Refusal,
    },
    /// The request got no answer.
    ConnectionFailed {
        /// The effect that this answers.
        effect: EffectId,
        /// The transport's error message.
        message: String,
    },
    /// Bytes of the body, in chunks of any size.
    Received {
        /// The stream's effect.
        effect: EffectId,
        /// The bytes.
        #[serde(with = "as_text")]
        bytes: Cow<'a, [u8]>,
    },
    /// The body ended properly.
    Ended {
        /// The stream's effect.
        effect: EffectId,
    },
    /// The connection broke within the body.
    Lost {
        /// The stream's effect.
        effect: EffectId,
        /// The transport's error message.
        message: String,
    },
    /// A tool finished.
    ToolFinished {
        /// The effect that this answers.
        effect: EffectId,
        /// The result.
        result: ToolResult,
    },
    /// The user decided whether a tool may run.
    Decided {
        /// The effect that this answers.
        effect: EffectId,
        /// The decision.
        decision: Decision,
    },
    /// Blocks are stored.
    Persisted {
        /// The effect that this answers.
        effect: EffectId,
    },
    /// Blocks could not be stored.
    PersistFailed {
        /// The effect that this answers.
        effect: EffectId,
        /// The store's error message.
        message: String,
    },
    /// The user answered all questions of the agent.
    Resume(Vec<ResumeEntry>),
    /// The user stops the turn.
    Cancel,
    /// Time has passed: the run handles the timers that are due.
    Timeout,
    /// The tool has begun work whose result comes in minutes or days. The run may be stored as a snapshot until
    /// [`ToolFinished`](Self::ToolFinished) delivers the result, to this host or another.
    ToolDeferred {
        /// The effect that this answers.
        effect: EffectId,
    },
    /// A running tool reports its progress, for [`RunEvent::ToolProgress`](crate::run::RunEvent::ToolProgress).
    ToolProgress {
        /// The tool's effect.
        effect: EffectId,
        /// The share that is done, from 0 to 1, to four places. Other numbers are clamped, and `NaN` counts as none.
        fraction: Option<f64>,
        /// The current activity; cut after 1000 bytes.
        message: Option<String>,
    },
    /// A running tool shows its result so far, for
    /// [`RunEvent::ToolPartialResult`](crate::run::RunEvent::ToolPartialResult).
    ToolPartialResult {
        /// The tool's effect.
        effect: EffectId,
        /// The result so far; 256 KiB at most.
        output: ToolOutput,
    },
    /// A running tool asks the user. The run emits [`Effect::AskUser`](crate::run::Effect::AskUser), and later
    /// [`Effect::AnswerTool`](crate::run::Effect::AnswerTool), both under the id `ask:HOP:INDEX:NUMBER`. A tool that runs
    /// again after a crash and asks the same question under the same number gets the same answer.
    ToolAsks {
        /// The tool's effect.
        effect: EffectId,
        /// The number of the question among those of the call, from 0 each time that the tool runs.
        number: u32,
        /// The question.
        question: Question,
    },
    /// The user answered a tool's question, or declined to.
    UserAnswered {
        /// The effect that this answers.
        effect: EffectId,
        /// The answer.
        answer: UserAnswer,
    },
    /// The user stops one call. The others continue, and the model is informed.
    CancelCall {
        /// The call.
        call: CallKey,
    },
    /// The host shuts down: it must stop whatever it has begun, and takes no further part in the turn. The turn does not
    /// end by this; another host can [`revive`](crate::run::RunMachine::revive) the snapshot.
    Dispose,
    /// The user sends a message during the turn. The message waits until the next hop begins, and is answered in this turn.
    /// If it cannot be, [`SteeringRefused`](crate::run::RunEvent::SteeringRefused) returns it, also after the end of the turn.
    Steer(Box<Message>),
    /// The messages that the user saw from a host that died, for a run that was
    /// [revived](crate::run::RunMachine::revive); it must be the first input. Messages that the run does not know, or
    /// knows in part, belong to the answer that the run awaits, and were not stored. They stay in the conversation,
    /// marked as [`CUT`](crate::run::CUT), and each of their calls gets a result that says that the call was not run.
    /// The next hop asks for the answer again. A run whose answer resumes where it broke off ignores this input.
    Shown(Vec<Message>),
    /// The app enters the background; see [`BackgroundPolicy`](crate::run::BackgroundPolicy). This input and the next four
    /// are valid in every state, and harmless when repeated.
    EnteredBackground,
    /// The app is in the foreground again.
    EnteredForeground,
    /// The network to the endpoint is lost; see [`OfflinePolicy`](crate::run::OfflinePolicy).
    NetworkLost,
    /// A network is available, or another one replaces the one before; see
    /// [`NetworkChangePolicy`](crate::run::NetworkChangePolicy).
    NetworkAvailable,
    /// A model has failed in another turn: until a time it is asked only if all others have failed too. The present hop
    /// continues. A number that no model has is ignored.
    ModelResting {
        /// The number of the model; see [`Fallback`](crate::run::Fallback).
        model: u32,
        /// The end of the rest.
        until: Timestamp,
    },
    /// The host has chosen the model of the next hop. A model that has failed since the turn's last complete answer is not
    /// asked: the one in its place is.
    ModelChosen {
        /// The effect that this answers.
        effect: EffectId,
        /// The number of the model; see [`Fallback`](crate::run::Fallback).
        model: u32,
    },
    /// The host's code could not choose a model. The turn continues with the model that it has, and warns.
    ModelNotChosen {
        /// The effect that this answers.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// The turn continues without some messages. The history keeps them; requests carry them no longer, in this turn and in
    /// those that follow it. Messages that belong together stay together: a call, its results, and the reasoning before
    /// them. The last question and the last message always stay.
    ContextTrimmed {
        /// The effect that this answers.
        effect: EffectId,
        /// The messages to keep. Unknown ids are ignored.
        keep: Vec<MessageId>,
        /// A summary of the other messages for the model; it follows the app's instructions.
        summary: Option<String>,
    },
    /// The host cannot shorten the conversation: the turn fails.
    ContextNotTrimmed {
        /// The effect that this answers.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// The host's decoder has accepted the typed answer.
    OutputDecoded {
        /// The effect that this answers.
        effect: EffectId,
    },
    /// The host's decoder has rejected the typed answer. The model gets the reason, and is asked again if the type
    /// allows that.
    OutputRefused {
        /// The effect that this answers.
        effect: EffectId,
        /// The description of what does not fit, and where, for the model.
        reason: String,
    },
    /// The host supplies the credentials of the next request.
    Authorized {
        /// The effect that this answers.
        effect: EffectId,
        /// The key or the headers.
        authorization: Authorization,
    },
    /// The host has no credentials for the next request: the turn fails, or waits while there is no network.
    NotAuthorized {
        /// The effect that this answers.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// A hook has answered.
    HookAnswered {
        /// The effect that this answers.
        effect: EffectId,
        /// The answer. It must change nothing but what the hook was asked about.
        answer: HookAnswer,
    },
}

impl Input<'_> {
    /// The name of the input, for messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "Start",
            Self::RunCreated { .. } => "RunCreated",
            Self::RunNotCreated { .. } => "RunNotCreated",
            Self::Opened { .. } => "Opened",
            Self::Refused { .. } => "Refused",
            Self::ConnectionFailed { .. } => "ConnectionFailed",
            Self::Received { .. } => "Received",
            Self::Ended { .. } => "Ended",
            Self::Lost { .. } => "Lost",
            Self::ToolFinished { .. } => "ToolFinished",
            Self::Decided { .. } => "Decided",
            Self::Persisted { .. } => "Persisted",
            Self::PersistFailed { .. } => "PersistFailed",
            Self::Resume(_) => "Resume",
            Self::Cancel => "Cancel",
            Self::Timeout => "Timeout",
            Self::ToolDeferred { .. } => "ToolDeferred",
            Self::ToolProgress { .. } => "ToolProgress",
            Self::ToolPartialResult { .. } => "ToolPartialResult",
            Self::ToolAsks { .. } => "ToolAsks",
            Self::UserAnswered { .. } => "UserAnswered",
            Self::CancelCall { .. } => "CancelCall",
            Self::Dispose => "Dispose",
            Self::Steer(_) => "Steer",
            Self::Shown(_) => "Shown",
            Self::EnteredBackground => "EnteredBackground",
            Self::EnteredForeground => "EnteredForeground",
            Self::NetworkLost => "NetworkLost",
            Self::NetworkAvailable => "NetworkAvailable",
            Self::ModelResting { .. } => "ModelResting",
            Self::ModelChosen { .. } => "ModelChosen",
            Self::ModelNotChosen { .. } => "ModelNotChosen",
            Self::ContextTrimmed { .. } => "ContextTrimmed",
            Self::Authorized { .. } => "Authorized",
            Self::NotAuthorized { .. } => "NotAuthorized",
            Self::ContextNotTrimmed { .. } => "ContextNotTrimmed",
            Self::OutputDecoded { .. } => "OutputDecoded",
            Self::OutputRefused { .. } => "OutputRefused",
            Self::HookAnswered { .. } => "HookAnswered",
        }
    }

    /// The effect that the input answers.
    #[must_use]
    pub fn effect(&self) -> Option<EffectId> {
        match self {
            Self::RunCreated { effect, .. }
            | Self::RunNotCreated { effect, .. }
            | Self::Opened { effect, .. }
            | Self::Refused { effect, .. }
            | Self::ConnectionFailed { effect, .. }
            | Self::Received { effect, .. }
            | Self::Ended { effect }
            | Self::Lost { effect, .. }
            | Self::ToolFinished { effect, .. }
            | Self::Decided { effect, .. }
            | Self::Persisted { effect }
            | Self::PersistFailed { effect, .. }
            | Self::ToolDeferred { effect }
            | Self::ToolProgress { effect, .. }
            | Self::ToolPartialResult { effect, .. }
            | Self::ToolAsks { effect, .. }
            | Self::UserAnswered { effect, .. }
            | Self::ModelChosen { effect, .. }
            | Self::ModelNotChosen { effect, .. }
            | Self::ContextTrimmed { effect, .. }
            | Self::ContextNotTrimmed { effect, .. }
            | Self::OutputDecoded { effect }
            | Self::OutputRefused { effect, .. }
            | Self::Authorized { effect, .. }
            | Self::NotAuthorized { effect, .. }
            | Self::HookAnswered { effect, .. } => Some(*effect),
            Self::Start(_)
            | Self::Resume(_)
            | Self::Cancel
            | Self::Timeout
            | Self::CancelCall { .. }
            | Self::Dispose
            | Self::Steer(_)
            | Self::Shown(_)
            | Self::EnteredBackground
            | Self::EnteredForeground
            | Self::NetworkLost
            | Self::NetworkAvailable
            | Self::ModelResting { .. } => None,
        }
    }

    /// Returns whether `effect` is of the kind that this input answers.
    pub(in crate::run) fn fits(&self, effect: EffectId) -> bool {
        match self {
            Self::RunCreated { .. } | Self::RunNotCreated { .. } => {
                matches!(effect, EffectId::CreateRun { .. })
            }
            Self::Opened { .. }
            | Self::Refused { .. }
            | Self::ConnectionFailed { .. }
            | Self::Received { .. }
            | Self::Ended { .. }
            | Self::Lost { .. } => matches!(effect, EffectId::Open { .. }),
            Self::ToolFinished { .. }
            | Self::ToolDeferred { .. }
            | Self::ToolProgress { .. }
            | Self::ToolPartialResult { .. }
            | Self::ToolAsks { .. } => matches!(effect, EffectId::Tool(_)),
            Self::UserAnswered { .. } => matches!(effect, EffectId::Ask { .. }),
            Self::Decided { .. } => matches!(effect, EffectId::Approve(_)),
            Self::Persisted { .. } | Self::PersistFailed { .. } => {
                matches!(effect, EffectId::Persist { .. })
            }
            Self::ModelChosen { .. } | Self::ModelNotChosen { .. } => {
                matches!(effect, EffectId::ChooseModel { .. })
            }
            Self::ContextTrimmed { .. } | Self::ContextNotTrimmed { .. } => {
                matches!(effect, EffectId::Trim { .. })
            }
            Self::OutputDecoded { .. } | Self::OutputRefused { .. } => {
                matches!(effect, EffectId::Output { .. })
            }
            Self::Authorized { .. } | Self::NotAuthorized { .. } => {
                matches!(effect, EffectId::Authorize { .. })
            }
            Self::HookAnswered { answer, .. } => {
                matches!(effect, EffectId::Hook { place, .. } if answer.fits(place))
            }
            Self::Start(_)
            | Self::Resume(_)
            | Self::Cancel
            | Self::Timeout
            | Self::CancelCall { .. }
            | Self::Dispose
            | Self::Steer(_)
            | Self::Shown(_)
            | Self::EnteredBackground
            | Self::EnteredForeground
            | Self::NetworkLost
            | Self::NetworkAvailable
            | Self::ModelResting { .. } => true,
        }
    }
}

/// The start of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The id of the turn, unique in the thread. It is the run id of the first hop too, unless the backend makes run ids
    /// ([`RunIds::Host`](crate::run::RunIds::Host)).
    pub run_id: RunId,
    /// The run that the first hop continues: the last one of the turn before, for backends that take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// The user's message; absent to continue a history that ends with something for the model to answer.
    pub message: Option<Message>,
    /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
    pub resume: Vec<ResumeEntry>,
    /// The options that replace parts of the configuration for this turn.
    #[serde(default, skip_serializing_if = "TurnOptions::is_empty")]
    pub options: TurnOptions,
}

impl Start {
    /// Creates the start of a turn with a message.
    #[must_use]
    pub fn new(run_id: impl Into<RunId>, message: Message) -> Self {
        Self {
            run_id: run_id.into(),
            parent_run_id: None,
            message: Some(message),
            resume: Vec::new(),
            options: TurnOptions::default(),
        }
    }

    /// Replaces the options of the turn.
    #[must_use]
    pub fn with_options(self, options: TurnOptions) -> Self {
        Self { options, ..self }
    }
}

/// An answer with a status other than 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The wait that the answer's `Retry-After` asks for. Without one, the wait that the body asks for counts.
    pub retry_after: Option<Duration>,
    /// The body, or the beginning of it that the host keeps; 64 KiB are enough.
    #[serde(with = "crate::wire::as_text")]
    pub body: Vec<u8>,
}
