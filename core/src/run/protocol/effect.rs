use super::block::{Block, TurnStatus};
use super::call::ToolInvocation;
use super::context::ContextOverflow;
use super::hook::{HookPlace, HookSubject};
use super::outcome::Outcome;
use super::question::{Question, UserAnswer};
use crate::dialect::HttpRequest;
use crate::{CallKey, RunId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, str::FromStr};

/// What an effect is for. Never a counter: the same effect has the same id after a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EffectId {
    /// Creates the run of a hop at the backend.
    CreateRun {
        /// The hop.
        hop: u32,
    },
    /// Opens the stream of a hop.
    Open {
        /// The hop.
        hop: u32,
        /// The try, from 0.
        attempt: u32,
    },
    /// Asks the user whether a tool may run.
    Approve(CallKey),
    /// Runs a tool.
    Tool(CallKey),
    /// Stores blocks.
    Persist {
        /// The sequence number of the first block.
        sequence: u64,
    },
    /// Makes the conversation fit the model's context, before a hop.
    Trim {
        /// The hop.
        hop: u32,
    },
    /// Decodes the typed answer of a hop.
    Output {
        /// The hop.
        hop: u32,
    },
    /// Gets the credentials of the request that opens the stream of a hop.
    Authorize {
        /// The hop.
        hop: u32,
        /// The try, from 0.
        attempt: u32,
    },
    /// Asks the user what a running tool wants to know, and brings the tool the answer.
    Ask {
        /// The call that asks.
        call: CallKey,
        /// The question's place among those of the call, from 0.
        number: u32,
    },
    /// Asks a hook.
    Hook {
        /// What about.
        place: HookPlace,
        /// The hook's place among those of the configuration, from 0.
        hook: u32,
    },
}

impl fmt::Display for EffectId {
    /// The form that crosses the bindings: `open:0:1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateRun { hop } => write!(f, "create_run:{hop}"),
            Self::Open { hop, attempt } => write!(f, "open:{hop}:{attempt}"),
            Self::Approve(call) => write!(f, "approve:{}:{}", call.hop, call.index),
            Self::Tool(call) => write!(f, "tool:{}:{}", call.hop, call.index),
            Self::Persist { sequence } => write!(f, "persist:{sequence}"),
            Self::Trim { hop } => write!(f, "trim:{hop}"),
            Self::Output { hop } => write!(f, "output:{hop}"),
            Self::Authorize { hop, attempt } => write!(f, "authorize:{hop}:{attempt}"),
            Self::Ask { call, number } => write!(f, "ask:{}:{}:{number}", call.hop, call.index),
            Self::Hook { place, hook } => {
                let moment = place.moment();
                match place {
                    HookPlace::Request { hop } | HookPlace::Answer { hop } => {
                        write!(f, "hook:{moment}:{hop}:{hook}")
                    }
                    HookPlace::Call(call) | HookPlace::Result(call) => {
                        write!(f, "hook:{moment}:{}:{}:{hook}", call.hop, call.index)
                    }
                }
            }
        }
    }
}

impl EffectId {
    /// Whether the host can be told to stop what it does under this id.
    pub(in crate::run) fn is_stoppable(self) -> bool {
        matches!(
            self,
            Self::Open { .. }
                | Self::Tool(_)
                | Self::Approve(_)
                | Self::Authorize { .. }
                | Self::Ask { .. }
                | Self::Hook { .. }
        )
    }

    /// What tells the host so.
    pub(in crate::run) fn stop(self) -> Effect {
        match self {
            Self::Open { .. } => Effect::CloseStream,
            _ => Effect::CancelTool,
        }
    }
}

/// The text is no effect's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of an effect: give back the id that came with the effect")]
pub struct ParseEffectIdError(String);

impl FromStr for EffectId {
    type Err = ParseEffectIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = || {
            let mut parts = text.split(':');
            let kind = parts.next()?;
            let moment = match kind {
                "hook" => parts.next()?,
                _ => "",
            };
            let mut number = || parts.next()?.parse::<u64>().ok();
            let small = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
            let id = match kind {
                "create_run" => Self::CreateRun {
                    hop: small(number())?,
                },
                "open" => Self::Open {
                    hop: small(number())?,
                    attempt: small(number())?,
                },
                "approve" => Self::Approve(CallKey {
                    hop: small(number())?,
                    index: small(number())?,
                }),
                "tool" => Self::Tool(CallKey {
                    hop: small(number())?,
                    index: small(number())?,
                }),
                "persist" => Self::Persist {
                    sequence: number()?,
                },
                "trim" => Self::Trim {
                    hop: small(number())?,
                },
                "output" => Self::Output {
                    hop: small(number())?,
                },
                "authorize" => Self::Authorize {
                    hop: small(number())?,
                    attempt: small(number())?,
                },
                "ask" => Self::Ask {
                    call: CallKey {
                        hop: small(number())?,
                        index: small(number())?,
                    },
                    number: small(number())?,
                },
                "hook" => {
                    let hop = small(number())?;
                    let place = match moment {
                        "before_request" => HookPlace::Request { hop },
                        "after_answer" => HookPlace::Answer { hop },
                        "before_tool" => HookPlace::Call(CallKey {
                            hop,
                            index: small(number())?,
                        }),
                        "after_tool" => HookPlace::Result(CallKey {
                            hop,
                            index: small(number())?,
                        }),
                        _ => return None,
                    };
                    let hook = small(number())?;
                    Self::Hook { place, hook }
                }
                _ => return None,
            };
            parts.next().is_none().then_some(id)
        };
        parsed().ok_or_else(|| ParseEffectIdError(text.to_owned()))
    }
}

/// Something that the host is to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Effect {
    /// Create a run at the backend, then answer with
    /// [`RunCreated`](crate::run::Input::RunCreated) or [`RunNotCreated`](crate::run::Input::RunNotCreated).
    CreateRun {
        /// The conversation.
        thread_id: ThreadId,
        /// The run that the new one continues; a thread's first has none.
        parent_run_id: Option<RunId>,
    },
    /// Send the request; answer with [`Opened`](crate::run::Input::Opened) and then the body's bytes and its end, or with
    /// [`Refused`](crate::run::Input::Refused) or [`ConnectionFailed`](crate::run::Input::ConnectionFailed).
    OpenStream {
        /// The request.
        request: HttpRequest,
    },
    /// Close the stream of this id, if it is open. Needs no answer.
    CloseStream,
    /// Ask the user; answer with [`Decided`](crate::run::Input::Decided).
    AskApproval {
        /// The call.
        invocation: Box<ToolInvocation>,
    },
    /// Run the tool; answer with [`ToolFinished`](crate::run::Input::ToolFinished), at once or after a
    /// [`ToolDeferred`](crate::run::Input::ToolDeferred).
    RunTool {
        /// The call.
        invocation: Box<ToolInvocation>,
    },
    /// Ask the user what a running tool wants to know; answer with [`UserAnswered`](crate::run::Input::UserAnswered).
    AskUser {
        /// The call that asks.
        invocation: Box<ToolInvocation>,
        /// What it asks.
        question: Question,
    },
    /// Give the tool the answer to the question that it asked under this id. Needs no answer.
    AnswerTool {
        /// What the user said.
        answer: UserAnswer,
    },
    /// Stop the tool, or stop asking (the user, a hook, or for credentials), under this id. Needs no answer; a late one is dropped.
    CancelTool,
    /// Store the blocks and the checkpoint in one transaction; answer with [`Persisted`](crate::run::Input::Persisted) or
    /// [`PersistFailed`](crate::run::Input::PersistFailed).
    Persist {
        /// The turn: the run id of its first hop.
        turn: RunId,
        /// Where the turn stands with these blocks.
        status: TurnStatus,
        /// How the turn ended, with its last write. Not part of the effect's serde form:
        /// [`Completed`](crate::run::RunEvent::Completed) says it there.
        #[serde(skip_serializing)]
        outcome: Option<Outcome>,
        /// The blocks, in sequence without a gap.
        blocks: Vec<Block>,
        /// What the machine knows beside them, to be stored in place of the checkpoint before: with the turn's blocks and
        /// the history before it the run comes back by
        /// [`revive_from`](crate::run::RunMachine::revive_from). Not part of the effect's serde form: its own form may change.
        #[serde(skip_serializing)]
        checkpoint: String,
    },
    /// Say which messages the next request is to carry, since all do not fit the model's context; answer with
    /// [`ContextTrimmed`](crate::run::Input::ContextTrimmed) or [`ContextNotTrimmed`](crate::run::Input::ContextNotTrimmed). Only
    /// with [`ContextPolicy::Trim`](crate::run::ContextPolicy::Trim).
    TrimContext {
        /// What does not fit.
        overflow: ContextOverflow,
    },
    /// Decode the typed answer, which fits its schema, into the app's own type; answer with
    /// [`OutputDecoded`](crate::run::Input::OutputDecoded) or [`OutputRefused`](crate::run::Input::OutputRefused). Only with
    /// [`OutputType::decoded_by_host`](crate::tool::OutputType::decoded_by_host). It may be asked again after a restore.
    DecodeOutput {
        /// The answer.
        value: Value,
    },
    /// Give the key, or the headers, that the next request is sent with; answer with
    /// [`Authorized`](crate::run::Input::Authorized) or [`NotAuthorized`](crate::run::Input::NotAuthorized). Only with
    /// [`Credentials::Host`](crate::run::Credentials::Host), and then before each request.
    Authorize {
        /// The provider has refused what the try before was sent with, with a 401: it is to be got anew.
        rejected: bool,
    },
    /// Ask a hook of the app's; answer with [`HookAnswered`](crate::run::Input::HookAnswered). Only with
    /// [`RunConfig::hooks`](crate::run::RunConfig::hooks). It may be asked again after a restore.
    RunHook {
        /// The hook's name. Empty if the configuration has none any more under this number: answer that it failed.
        hook: String,
        /// What it looks at.
        subject: Box<HookSubject>,
    },
}
