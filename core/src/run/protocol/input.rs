use super::call::Decision;
use super::credentials::Authorization;
use super::effect_id::EffectId;
use super::hook::HookAnswer;
use super::question::{Question, UserAnswer};
use super::turn_options::TurnOptions;
use crate::event::{Message, ResumeEntry};
use crate::tool::{ToolOutput, ToolResult};
use crate::wire::as_text;
use crate::{CallKey, MessageId, RunId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// What the host tells a run. Its serde form is what a [journal](crate::journal) holds: bytes are a string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Input<'a> {
    /// Starts the turn.
    Start(Box<Start>),
    /// The backend created a run.
    RunCreated {
        /// The effect answered.
        effect: EffectId,
        /// The run's id.
        run_id: RunId,
    },
    /// The backend did not create a run.
    RunNotCreated {
        /// The effect answered.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// The provider answered with a 2xx status: the body follows.
    Opened {
        /// The effect answered.
        effect: EffectId,
        /// The answer's `Content-Type`, if it has one.
        content_type: Option<String>,
    },
    /// The provider answered with any other status.
    Refused {
        /// The effect answered.
        effect: EffectId,
        /// The answer.
        refusal: Refusal,
    },
    /// No answer came at all.
    ConnectionFailed {
        /// The effect answered.
        effect: EffectId,
        /// The transport's words.
        message: String,
    },
    /// Bytes of the body, as many as the transport gave.
    Received {
        /// The stream's effect.
        effect: EffectId,
        /// The bytes.
        #[serde(with = "as_text")]
        bytes: Cow<'a, [u8]>,
    },
    /// The body ended as it should.
    Ended {
        /// The stream's effect.
        effect: EffectId,
    },
    /// The connection broke within the body.
    Lost {
        /// The stream's effect.
        effect: EffectId,
        /// The transport's words.
        message: String,
    },
    /// A tool came to an end.
    ToolFinished {
        /// The effect answered.
        effect: EffectId,
        /// What came of it.
        result: ToolResult,
    },
    /// The user decided whether a tool may run.
    Decided {
        /// The effect answered.
        effect: EffectId,
        /// What they said.
        decision: Decision,
    },
    /// Blocks are stored.
    Persisted {
        /// The effect answered.
        effect: EffectId,
    },
    /// Blocks could not be stored.
    PersistFailed {
        /// The effect answered.
        effect: EffectId,
        /// The store's words.
        message: String,
    },
    /// The user answered the agent's questions, all of them.
    Resume(Vec<ResumeEntry>),
    /// The user stops the turn.
    Cancel,
    /// Time has passed: what is due is done.
    Timeout,
    /// The tool has begun something whose result comes later, in minutes or days: the run may rest as a snapshot until
    /// [`ToolFinished`](Self::ToolFinished) brings it, to this host or another.
    ToolDeferred {
        /// The effect answered.
        effect: EffectId,
    },
    /// A running tool says how far it has come, for [`RunEvent::ToolProgress`](crate::run::RunEvent::ToolProgress).
    ToolProgress {
        /// The tool's effect.
        effect: EffectId,
        /// How much is done, from 0 to 1, to four places; what is beyond is clamped, what is no number is nothing.
        fraction: Option<f64>,
        /// What it does now; cut after 1000 bytes.
        message: Option<String>,
    },
    /// A running tool shows what it has so far, for
    /// [`RunEvent::ToolPartialResult`](crate::run::RunEvent::ToolPartialResult).
    ToolPartialResult {
        /// The tool's effect.
        effect: EffectId,
        /// The result so far; 256 KiB at most.
        output: ToolOutput,
    },
    /// A running tool asks the user. [`Effect::AskUser`](crate::run::Effect::AskUser) goes out, and then
    /// [`Effect::AnswerTool`](crate::run::Effect::AnswerTool), both under the id `ask:HOP:INDEX:NUMBER`. A tool that is run
    /// again after a crash and asks the same at the same place is given the answer of before.
    ToolAsks {
        /// The tool's effect.
        effect: EffectId,
        /// The question's place among those of the call, counted from 0 each time that the tool is run.
        number: u32,
        /// The question.
        question: Question,
    },
    /// The user answered a tool's question, or would not.
    UserAnswered {
        /// The effect answered.
        effect: EffectId,
        /// What they said.
        answer: UserAnswer,
    },
    /// The user stops one call. The others go on, and the model is told.
    CancelCall {
        /// The call.
        call: CallKey,
    },
    /// The host goes away: what it has begun is to be stopped, and it takes part in the turn no more. The turn does
    /// not end by it; another host can [`revive`](crate::run::RunMachine::revive) the snapshot.
    Dispose,
    /// The user types during the turn. The message waits until the next hop begins, and is answered in this turn; if
    /// it cannot be, [`SteeringRefused`](crate::run::RunEvent::SteeringRefused) gives it back, also when the turn has ended
    /// meanwhile.
    Steer(Box<Message>),
    /// What the user was shown by a host that died, as messages: for a run that was
    /// [revived](crate::run::RunMachine::revive), before any other input. Those that the run does not know, or knows less of,
    /// belong to the answer that it awaits, and were not stored. They stay in the conversation, marked as
    /// [`CUT`](crate::run::CUT), each of their calls with a result which says that it was not run; and the answer is asked for
    /// anew, in the next hop. An answer that is resumed where it broke off takes nothing.
    Shown(Vec<Message>),
    /// The app goes to the background; see [`BackgroundPolicy`](crate::run::BackgroundPolicy). Like the following inputs, it
    /// is taken in every state, and harmless when repeated.
    EnteredBackground,
    /// The app is in the foreground again.
    EnteredForeground,
    /// The network that the endpoint is reached over is gone; see [`OfflinePolicy`](crate::run::OfflinePolicy).
    NetworkLost,
    /// There is a network, or another one took the place of the one before; see
    /// [`NetworkChangePolicy`](crate::run::NetworkChangePolicy).
    NetworkAvailable,
    /// The conversation is to go on without some of its messages. The history stays whole; they are left out of this
    /// turn's requests. What belongs together stays together: a call with its results, both ways, and the reasoning
    /// before them; the last question and the last message stay too.
    ContextTrimmed {
        /// The effect answered.
        effect: EffectId,
        /// The messages that are kept. Ids that are not there are passed over.
        keep: Vec<MessageId>,
        /// What the model is told in the place of the others; it follows the app's instructions.
        summary: Option<String>,
    },
    /// The host has no way to shorten the conversation: the turn fails.
    ContextNotTrimmed {
        /// The effect answered.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// The host's decoder has taken the typed answer.
    OutputDecoded {
        /// The effect answered.
        effect: EffectId,
    },
    /// The host's decoder has not: the model is told the reason, and asked again if it may be.
    OutputRefused {
        /// The effect answered.
        effect: EffectId,
        /// What does not fit, and where, in words for the model.
        reason: String,
    },
    /// What the next request is sent with.
    Authorized {
        /// The effect answered.
        effect: EffectId,
        /// The key, the headers.
        authorization: Authorization,
    },
    /// The host has no credentials for the next request: the turn fails; or it waits, while there is no network.
    NotAuthorized {
        /// The effect answered.
        effect: EffectId,
        /// Why.
        message: String,
    },
    /// A hook has looked.
    HookAnswered {
        /// The effect answered.
        effect: EffectId,
        /// What it says. One that changes something else than it was asked about is no answer to the effect.
        answer: HookAnswer,
    },
}

impl Input<'_> {
    /// The input's name, for messages.
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
            | Self::NetworkAvailable => None,
        }
    }

    /// Whether `effect` is of the kind that this input answers.
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
            | Self::NetworkAvailable => true,
        }
    }
}

/// What starts a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The turn's id, unique in the thread, and its first hop's run id, unless the backend makes that
    /// ([`RunIds::Host`](crate::run::RunIds::Host)).
    pub run_id: RunId,
    /// The run that the first hop's continues: that of the last hop of the turn before, for backends that are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// What the user says; absent to go on from a history that ends with something the model is to answer.
    pub message: Option<Message>,
    /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
    pub resume: Vec<ResumeEntry>,
    /// What is otherwise for this turn than the configuration says.
    #[serde(default, skip_serializing_if = "TurnOptions::is_empty")]
    pub options: TurnOptions,
}

impl Start {
    /// A turn that begins with a message.
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

    /// The same with options of the turn's own.
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
    /// The body, or as much of it as the host cares to keep; 64 KiB are plenty.
    #[serde(with = "crate::wire::as_text")]
    pub body: Vec<u8>,
}
