//! A turn that is driven, and what it is driven with.

use crate::engine::{Command, CommandReply, DriverSetup, RunObserver};
use crate::turn::agent::TurnAgent;
use crate::turn::announce::QuestionIds;
use crate::turn::asking::Asking;
use crate::turn::call_labels::CallLabels;
use crate::turn::ending::Ending;
use crate::turn::event_writer::EventWriter;
use crate::turn::in_runs::NextRun;
use crate::turn::questions::Questions;
use crate::turn::reading::Reading;
use crate::turn::rounds::Rounds;
use crate::turn::shared_state::SharedState;
use crate::turn::stop::Stop;
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::stored::Stored;
use crate::turn::told_progress::ToldProgress;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Interrupt, TokenUsage};
use stepwell_core::transcript::Compaction;
use stepwell_io::RunId;
use stepwell_io::config::Endpoint;
use stepwell_io::store::TurnKey;
use stepwell_io::turn::TurnEvents;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// A turn, and what it is driven with.
pub(crate) struct Drive<'a> {
    pub(crate) setup: &'a DriverSetup,
    pub(crate) key: &'a TurnKey,
    pub(crate) agent: &'a TurnAgent,
    /// The endpoints of the models that the turn may ask, the one that answers first.
    pub(crate) models: &'a [Endpoint],
    pub(crate) turn: TurnEvents,
    pub(crate) writer: &'a mut EventWriter,
    pub(crate) rounds: Rounds,
    pub(crate) labels: CallLabels,
    /// The compactions of this turn that were reported.
    pub(crate) compactions: HashSet<Compaction>,
    pub(crate) questions: Questions,
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    pub(crate) cancel: CancellationToken,
    /// Cancelled when this host takes no more runs.
    pub(crate) closing: CancellationToken,
    /// Cancelled when this host releases the turn, which continues later if it is stored.
    pub(crate) leave: CancellationToken,
    /// What keeps the turn from being stored, for its readers on this host.
    pub(crate) trouble: watch::Sender<Option<StoreTrouble>>,
    /// Which facts of the turn are stored.
    pub(crate) stored: Stored,
    /// The questions that the log has open, of an owner before.
    pub(crate) open: BTreeMap<String, Interrupt>,
    /// The commands to the turn.
    pub(crate) commands: mpsc::Receiver<(Command, CommandReply)>,
    /// Set to whether the turn waits for the user.
    pub(crate) asks: watch::Sender<bool>,
    /// Set while it waits for the user or the client.
    pub(crate) is_waiting: Arc<AtomicBool>,
    /// Whether the turn has rested for as long as it may.
    pub(crate) has_lapsed: bool,
    /// Answers to questions that the log has open, and that the revived turn has not asked again yet.
    pub(crate) early: Vec<(Command, CommandReply)>,
    pub(crate) progress: ToldProgress,
    /// The ids of its questions.
    pub(crate) ids: &'a QuestionIds,
    /// The run under way; none while the turn waits for the next one.
    pub(crate) run: Option<CurrentRun>,
    /// Whether a run ends when the turn waits for the user or the client.
    pub(crate) is_told_in_runs: bool,
    /// The state that the turn shares with its client.
    pub(crate) state: Option<SharedState>,
    /// The owner in whose name the turn is stored while it rests, if this host releases it then.
    pub(crate) resting: Option<&'static str>,
    /// Whether a call has moved on, or something was asked, since the last check whether the turn waits.
    pub(crate) has_moved: bool,
    pub(crate) reading: Reading,
    /// The run that the turn will continue in, while the questions that the run answers are yet to be asked again.
    pub(crate) next: Option<NextRun>,
    /// The questions that the log has open, and that the turn does not ask any more.
    pub(crate) void: BTreeSet<String>,
    /// The questions that were asked or withdrawn between two runs: the next run reports them.
    pub(crate) postponed: Vec<Asking>,
}

/// A run that a turn is reported in.
pub(crate) struct CurrentRun {
    pub(crate) id: RunId,
    /// The usage of the turn before the run, which earlier runs have reported.
    pub(crate) before: TokenUsage,
    /// Observes how the run ends.
    pub(crate) observer: Option<Box<dyn RunObserver>>,
}

/// A run that is over, and what the turn has cost by then.
pub(crate) struct EndedRun {
    pub(crate) id: RunId,
    pub(crate) before: TokenUsage,
    pub(crate) used: TokenUsage,
    pub(crate) observer: Option<Box<dyn RunObserver>>,
}

/// The end of driving a turn.
// There is one value for each turn.
#[allow(clippy::large_enum_variant)]
pub(crate) enum DriveEnd {
    /// The turn has come to its end.
    Ended(Ending, EndedRun),
    /// The turn continues later, or on another host.
    Left,
    /// The turn continues when its user moves it on. Until then it is stored under this name.
    Rests(&'static str),
}

/// What a resting turn waits for.
#[derive(Debug)]
pub(crate) enum Awaited {
    User,
    Client(Vec<ToolCallId>),
}

impl Drive<'_> {
    /// Returns whether the turn's events belong to a run now. A turn that is stopped between two runs reports its end.
    pub(super) fn is_in_run(&self, stop: Option<Stop>) -> bool {
        self.run.is_some() || !self.is_told_in_runs || stop.is_some()
    }

    /// Returns whether the turn waits for the user, or for a tool of the client's.
    pub(super) fn awaits_answer(&self) -> bool {
        !self.questions.is_empty() || self.rounds.awaits_client()
    }

    /// Updates whether the turn waits for the user.
    pub(crate) fn note_asks(&self) {
        let now = !self.questions.is_empty();
        self.is_waiting
            .store(self.awaits_answer(), Ordering::Relaxed);
        self.asks
            .send_if_modified(|asks| std::mem::replace(asks, now) != now);
    }
}
