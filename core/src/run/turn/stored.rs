//! A turn as it is stored: one flat record, whose form is older than the parts.

use super::Turn;
use crate::conversation::Conversation;
use crate::dialect::HopIds;
use crate::event::{ResumeEntry, TokenUsage};
use crate::pipeline::Pipeline;
use crate::run::parts::{
    Access, Beginnings, Bookmark, Budget, Clocks, ContextWindow, Deadlines, Effects, EmptyAnswer,
    Network, Presenter, Questions, Recorder, Spent, Steering, TypedAnswer,
};
use crate::run::protocol::{ChangedRequest, RunConfig, TurnLimit, TurnOptions, TurnStatus};
use crate::{CallKey, RunId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a run knows of the device.
#[derive(Default, Serialize, Deserialize)]
struct Device {
    paused_at: Option<Timestamp>,
    is_offline: bool,
    uncounted: u32,
}

/// The fields in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Turn")]
struct Stored {
    conversation: Conversation,
    #[serde(rename = "turn")]
    id: RunId,
    ids: HopIds,
    parent_run_id: Option<RunId>,
    hop: u32,
    #[serde(getter = "rounds")]
    rounds: u32,
    #[serde(getter = "reached")]
    reached: Option<TurnLimit>,
    resume: Vec<ResumeEntry>,
    #[serde(getter = "Turn::usage")]
    usage: TokenUsage,
    #[serde(rename = "pending")]
    effects: Effects,
    #[serde(getter = "timers")]
    timers: Deadlines,
    recorder: Recorder,
    #[serde(rename = "outbox")]
    presenter: Presenter,
    #[serde(
        getter = "hop_anchor",
        default,
        skip_serializing_if = "Bookmark::is_at_start"
    )]
    hop_anchor: Bookmark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hop_state: Option<Value>,
    #[serde(getter = "anchor", default)]
    anchor: Bookmark,
    #[serde(getter = "turn_left")]
    turn_left: Option<Duration>,
    #[serde(getter = "clock")]
    clock: Timestamp,
    status: TurnStatus,
    #[serde(getter = "spent", default)]
    spent: Spent,
    #[serde(getter = "running_since", default)]
    running_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stopped_calls: Vec<CallKey>,
    #[serde(default)]
    steering: Steering,
    #[serde(getter = "device", default)]
    device: Device,
    #[serde(rename = "resumption", default)]
    broken_stream: Option<Box<Pipeline>>,
    #[serde(
        rename = "context",
        default,
        skip_serializing_if = "ContextWindow::is_untouched"
    )]
    window: ContextWindow,
    #[serde(
        rename = "output",
        default,
        skip_serializing_if = "TypedAnswer::is_untouched"
    )]
    typed: TypedAnswer,
    #[serde(
        rename = "empty_answer",
        default,
        skip_serializing_if = "EmptyAnswer::is_untouched"
    )]
    empty: EmptyAnswer,
    #[serde(
        getter = "options",
        default,
        skip_serializing_if = "TurnOptions::is_empty"
    )]
    options: TurnOptions,
    #[serde(default, skip_serializing_if = "Access::is_untouched")]
    access: Access,
    #[serde(default, skip_serializing_if = "Questions::is_empty")]
    questions: Questions,
    #[serde(default, skip_serializing_if = "ChangedRequest::is_untouched")]
    changed_request: ChangedRequest,
}

fn rounds(turn: &Turn) -> u32 {
    turn.budget.rounds()
}

fn reached(turn: &Turn) -> &Option<TurnLimit> {
    turn.budget.reached()
}

fn timers(turn: &Turn) -> &Deadlines {
    turn.clocks.deadlines()
}

fn hop_anchor(turn: &Turn) -> &Bookmark {
    turn.beginnings.hop()
}

fn anchor(turn: &Turn) -> &Bookmark {
    turn.beginnings.turn()
}

fn turn_left(turn: &Turn) -> Option<Duration> {
    turn.clocks.turn_left()
}

fn clock(turn: &Turn) -> Timestamp {
    turn.clocks.now()
}

fn spent(turn: &Turn) -> &Spent {
    turn.budget.spent()
}

fn running_since(turn: &Turn) -> Option<Timestamp> {
    turn.clocks.running_since()
}

fn device(turn: &Turn) -> Device {
    Device {
        paused_at: turn.clocks.paused_at(),
        is_offline: turn.network.is_offline(),
        uncounted: turn.network.uncounted(),
    }
}

fn options(turn: &Turn) -> Cow<'_, TurnOptions> {
    turn.options.stored()
}

impl From<Stored> for Turn {
    fn from(stored: Stored) -> Self {
        let device = stored.device;
        Self {
            config: RunConfig::absent(),
            options: stored.options,
            conversation: stored.conversation,
            offer: OnceLock::new(),
            id: stored.id,
            ids: stored.ids,
            parent_run_id: stored.parent_run_id,
            hop: stored.hop,
            resume: stored.resume,
            effects: stored.effects,
            clocks: Clocks::restored(
                stored.clock,
                stored.timers,
                device.paused_at,
                stored.turn_left,
                stored.running_since,
            ),
            recorder: stored.recorder,
            presenter: stored.presenter,
            budget: Budget::restored(stored.rounds, stored.reached, stored.usage, stored.spent),
            network: Network::restored(device.is_offline, device.uncounted),
            access: stored.access,
            window: stored.window,
            steering: stored.steering,
            typed: stored.typed,
            empty: stored.empty,
            questions: stored.questions,
            changed_request: stored.changed_request,
            beginnings: Beginnings::restored(stored.anchor, stored.hop_anchor),
            hop_state: stored.hop_state,
            status: stored.status,
            stopped_calls: stored.stopped_calls,
            broken_stream: stored.broken_stream,
            is_of_another_dialect: false,
            follows_cut: false,
        }
    }
}

impl Serialize for Turn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Turn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)
    }
}

impl Turn {
    /// A turn that was just read gets what is not stored: the host's configuration, whose dialect may be another than
    /// the one that the run `spoke`.
    pub(in crate::run) fn configure(&mut self, config: Arc<RunConfig>, spoke: &str) {
        self.is_of_another_dialect = spoke != config.endpoint.dialect.name();
        self.config = self.options.over(config);
        self.set_up_presenter();
        self.ask_for_access_again();
    }
}
