//! Reads the snapshot of a stored run, to continue it in the same host or in another.

use crate::run::protocol::{Input, KilledPolicy, RunConfig, StateKind};
use crate::run::states::any_run::AnyRun;
use crate::run::states::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Run, State,
    Streaming, Summarizing, VERSION, Waiting, hooks_digest, tools_digest,
};
use crate::run::stored::{SessionError, Turn as StoredTurn, rebuild};
use crate::run::turn::Turn;
use crate::run::turn::checkpoint::Basis;
use crate::transcript::{Misfit, Transcript};
use crate::unquoted::unquoted;
use crate::{RunId, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// The reasons why a snapshot cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SnapshotError {
    /// The text is not a snapshot, or is damaged.
    #[error("this is no snapshot of a run: {0}")]
    Malformed(String),
    /// The snapshot describes an impossible run.
    #[error("this snapshot was not written by a run, or was changed: it has {0}")]
    Impossible(&'static str),
    /// The text is a checkpoint, which holds only a part of a run.
    #[error(
        "this is a checkpoint, and no snapshot of a whole run: give it to `revive_from`, with the history and the stored turn"
    )]
    IsCheckpoint,
    /// The text is the snapshot of a complete run instead of a checkpoint.
    #[error("this is the snapshot of a whole run, and no checkpoint: give it to `revive`")]
    IsSnapshot,
    /// The checkpoint belongs to another turn.
    #[error("the checkpoint is of the turn `{of}`, and was given the turn `{given}`")]
    OtherTurn {
        /// The checkpoint's turn.
        of: RunId,
        /// The turn that it was given.
        given: RunId,
    },
    /// The turn has more blocks than were stored with the checkpoint, or fewer.
    #[error(
        "the checkpoint was stored with {counted} blocks of the turn, and was given {given}: store both in one transaction, \
         and read both in one"
    )]
    OtherBlocks {
        /// The blocks that were stored with the checkpoint.
        counted: u64,
        /// The blocks of the turn that it was given.
        given: u64,
    },
    /// The blocks do not fit together.
    #[error("the stored turn cannot be read: {0}")]
    Blocks(#[from] SessionError),
    /// The history, or the blocks, are not those that the checkpoint was stored with.
    #[error(
        "the checkpoint does not fit the conversation of the stored turns: {0} (give the history that the turn began with)"
    )]
    OtherConversation(String),
    /// The snapshot has another version of the format.
    #[error(
        "the snapshot has version {found} of the format, and this program reads version {VERSION}: use the release that wrote it"
    )]
    OtherVersion {
        /// The snapshot's version.
        found: u64,
    },
    /// The configuration is for another wire format than the run in the snapshot: only
    /// [`RunMachine::revive`](crate::run::RunMachine::revive) continues such a run.
    #[error(
        "the snapshot is of a run that speaks {found}, and the configuration says {configured}"
    )]
    OtherDialect {
        /// The run's dialect.
        found: String,
        /// The configuration's.
        configured: &'static str,
    },
}

#[derive(Deserialize)]
struct Head {
    dialect: String,
    tools: u64,
    #[serde(default)]
    hooks: Option<u64>,
    state: StateKind,
    #[serde(default)]
    basis: Option<Basis<'static>>,
    run: Value,
}

/// The source of a run in addition to the snapshot's text: none, or what the host has stored.
type Source<'a> = Option<(Transcript, &'a StoredTurn)>;

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn malformed(error: serde_json::Error) -> SnapshotError {
    SnapshotError::Malformed(unquoted(&error.to_string()))
}

/// Reads a field of an object, which is taken out; one that is absent is read as null.
fn field<T: DeserializeOwned>(object: &mut Value, name: &str) -> Result<T, SnapshotError> {
    let value = object.get_mut(name).map(Value::take).unwrap_or_default();
    serde_json::from_value(value).map_err(malformed)
}

/// Reads a snapshot, whatever dialect the run spoke, and says which that was.
fn read(
    snapshot: &str,
    source: Source<'_>,
    config: Arc<RunConfig>,
) -> Result<(AnyRun, String), SnapshotError> {
    // Another version may also differ in the rest.
    let mut head: Value = serde_json::from_str(snapshot).map_err(malformed)?;
    let found: u64 = field(&mut head, "v")?;
    if found != VERSION {
        return Err(SnapshotError::OtherVersion { found });
    }
    match (&source, head.get("basis").is_some()) {
        (None, true) => return Err(SnapshotError::IsCheckpoint),
        (Some(_), false) => return Err(SnapshotError::IsSnapshot),
        _ => {}
    }
    let head: Head = serde_json::from_value(head).map_err(malformed)?;
    let mut run = head.run;
    let mut turn: Box<Turn> = field(&mut run, "core")?;
    if let (Some((history, stored)), Some(basis)) = (source, head.basis) {
        fill(&mut turn, basis, history, stored)?;
    }
    turn.configure(config, &head.dialect);
    if head.tools != tools_digest(turn.config()) {
        turn.warn("the tools have changed since the run was stored".to_owned());
    }
    if head.hooks != hooks_digest(turn.config()) {
        turn.warn("the hooks have changed since the run was stored".to_owned());
    }

    fn with<S: State + DeserializeOwned>(
        turn: Box<Turn>,
        run: &mut Value,
    ) -> Result<AnyRun, SnapshotError>
    where
        AnyRun: From<Run<S>>,
    {
        let state: S = field(run, "state")?;
        let run = Run::of(turn, state);
        run.check_stored().map_err(SnapshotError::Impossible)?;
        Ok(run.into())
    }
    let run = match head.state {
        StateKind::Idle => with::<Idle>(turn, &mut run),
        StateKind::Opening => with::<Opening>(turn, &mut run),
        StateKind::Waiting => with::<Waiting>(turn, &mut run),
        StateKind::Summarizing => with::<Summarizing>(turn, &mut run),
        StateKind::Streaming => with::<Streaming>(turn, &mut run),
        StateKind::Reviewing => with::<Reviewing>(turn, &mut run),
        StateKind::Decoding => with::<Decoding>(turn, &mut run),
        StateKind::ExecutingTools => with::<ExecutingTools>(turn, &mut run),
        StateKind::Interrupted => with::<Interrupted>(turn, &mut run),
        StateKind::Completed => with::<Completed>(turn, &mut run),
    };
    Ok((run?, head.dialect))
}

/// Gives a turn the conversation that its checkpoint leaves out.
fn fill(
    turn: &mut Turn,
    basis: Basis<'_>,
    history: Transcript,
    stored: &StoredTurn,
) -> Result<(), SnapshotError> {
    if basis.turn != stored.id || *turn.id() != stored.id {
        return Err(SnapshotError::OtherTurn {
            of: basis.turn,
            given: stored.id.clone(),
        });
    }
    let (counted, given) = (basis.blocks, stored.blocks.len() as u64);
    if counted != given || turn.durable_blocks() != given {
        return Err(SnapshotError::OtherBlocks { counted, given });
    }
    let live = turn.live_results(&basis);
    let rebuilt = rebuild(history, stored, &turn.waiting_blocks(), &live)?;
    turn.fill(basis, rebuilt)
        .map_err(|Misfit(message)| SnapshotError::OtherConversation(message))
}

impl AnyRun {
    /// A stored run on the same host: see [`RunMachine::restore`](crate::run::RunMachine::restore).
    ///
    /// # Errors
    /// The text is not a snapshot, or is one of another version or of a run of another dialect.
    pub fn restore(snapshot: &str, config: Arc<RunConfig>) -> Result<Self, SnapshotError> {
        let configured = config.endpoint.dialect.name();
        let (run, found) = read(snapshot, None, config)?;
        if run.turn().is_of_another_dialect() {
            return Err(SnapshotError::OtherDialect { found, configured });
        }
        Ok(run)
    }

    /// A stored run whose host died: see [`RunMachine::revive`](crate::run::RunMachine::revive).
    ///
    /// # Errors
    /// The text is not a snapshot, or is one of another version.
    pub fn revive(
        snapshot: &str,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let (run, _) = read(snapshot, None, config)?;
        Ok(run.on_new_host(now))
    }

    /// A stored run whose host died, from what is stored of its turn: see
    /// [`RunMachine::revive_from`](crate::run::RunMachine::revive_from).
    ///
    /// # Errors
    /// The text is not a checkpoint, is one of another version, or does not fit the history and the turn.
    pub fn revive_from(
        checkpoint: &str,
        history: Transcript,
        turn: &StoredTurn,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        Ok(Self::read_checkpoint(checkpoint, history, turn, config)?.on_new_host(now))
    }

    /// The run as it was when its checkpoint was made, but for the write, which is done.
    pub(crate) fn read_checkpoint(
        checkpoint: &str,
        history: Transcript,
        turn: &StoredTurn,
        config: Arc<RunConfig>,
    ) -> Result<Self, SnapshotError> {
        let (run, _) = read(checkpoint, Some((history, turn)), config)?;
        Ok(run)
    }

    /// The host that the run was read from has died.
    pub(crate) fn on_new_host(mut self, now: Timestamp) -> Self {
        let run = &mut self;
        let killed = run.turn().config().device.killed;
        let turn = run.turn_mut();
        turn.tick(now);
        turn.write_survived();
        turn.host_is_new();
        let mut run = match killed {
            KilledPolicy::Continue => self.revived(now),
            KilledPolicy::Cancel => self.killed(now),
        };
        run.turn_mut().speaks_one_dialect();
        run
    }

    /// The host died, and the policy is that the turn ends with it.
    fn killed(mut self, now: Timestamp) -> Self {
        if matches!(self, Self::Idle(_) | Self::Completed(_)) {
            return self.revived(now);
        }
        self.turn_mut().forget_host();
        self.step(Input::Cancel, None, now).0
    }
}
