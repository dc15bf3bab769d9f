//! A run that was stored: its snapshot is read, and it goes on, in the same host or in another.

use crate::Timestamp;
use crate::json;
use crate::run::protocol::{Input, KilledPolicy, RunConfig, StateKind};
use crate::run::states::any_run::AnyRun;
use crate::run::states::{
    Completed, Decoding, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Run, State,
    Streaming, VERSION, Waiting, hooks_digest, tools_digest,
};
use crate::run::turn::Turn;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Why a snapshot cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum SnapshotError {
    /// It is no snapshot, or a damaged one.
    #[error("this is no snapshot of a run: {0}")]
    Malformed(String),
    /// It says what no run can be.
    #[error("this snapshot was not written by a run, or was changed: it has {0}")]
    Impossible(&'static str),
    /// It has another version of the format.
    #[error(
        "the snapshot has version {found} of the format, and this program reads version {VERSION}: use the release that wrote it"
    )]
    OtherVersion {
        /// The snapshot's version.
        found: u64,
    },
    /// The configuration is for another wire format than the run in the snapshot: only
    /// [`RunMachine::revive`](crate::run::RunMachine::revive) goes on with it.
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
    run: Value,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn malformed(error: serde_json::Error) -> SnapshotError {
    SnapshotError::Malformed(json::unquoted(&error.to_string()))
}

/// Reads a snapshot, whatever dialect the run spoke, and says which that was.
fn read(snapshot: &str, config: Arc<RunConfig>) -> Result<(AnyRun, String), SnapshotError> {
    // Of another version the rest may be otherwise, too.
    let mut head: Value = json::from_str(snapshot).map_err(malformed)?;
    let found: u64 = json::field(&mut head, "v").map_err(malformed)?;
    if found != VERSION {
        return Err(SnapshotError::OtherVersion { found });
    }
    let head: Head = json::read(&mut head).map_err(malformed)?;
    let mut run = head.run;
    let mut turn: Box<Turn> = json::field(&mut run, "core").map_err(malformed)?;
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
        let state: S = json::field(run, "state").map_err(malformed)?;
        let run = Run::of(turn, state);
        run.check_stored().map_err(SnapshotError::Impossible)?;
        Ok(run.into())
    }
    let run = match head.state {
        StateKind::Idle => with::<Idle>(turn, &mut run),
        StateKind::Opening => with::<Opening>(turn, &mut run),
        StateKind::Waiting => with::<Waiting>(turn, &mut run),
        StateKind::Streaming => with::<Streaming>(turn, &mut run),
        StateKind::Reviewing => with::<Reviewing>(turn, &mut run),
        StateKind::Decoding => with::<Decoding>(turn, &mut run),
        StateKind::ExecutingTools => with::<ExecutingTools>(turn, &mut run),
        StateKind::Interrupted => with::<Interrupted>(turn, &mut run),
        StateKind::Completed => with::<Completed>(turn, &mut run),
    };
    Ok((run?, head.dialect))
}

impl AnyRun {
    /// A stored run on the same host: see [`RunMachine::restore`](crate::run::RunMachine::restore).
    ///
    /// # Errors
    /// The text is no snapshot, one of another version, or one of a run of another dialect.
    pub fn restore(snapshot: &str, config: Arc<RunConfig>) -> Result<Self, SnapshotError> {
        let configured = config.endpoint.dialect.name();
        let (run, found) = read(snapshot, config)?;
        if run.turn().is_of_another_dialect() {
            return Err(SnapshotError::OtherDialect { found, configured });
        }
        Ok(run)
    }

    /// A stored run whose host died: see [`RunMachine::revive`](crate::run::RunMachine::revive).
    ///
    /// # Errors
    /// The text is no snapshot, or one of another version.
    pub fn revive(
        snapshot: &str,
        config: Arc<RunConfig>,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let killed = config.device.killed;
        let (mut run, _) = read(snapshot, config)?;
        let turn = run.turn_mut();
        turn.tick(now);
        turn.write_survived();
        turn.host_is_new();
        let mut run = match killed {
            KilledPolicy::Continue => run.revived(now),
            KilledPolicy::Cancel => run.killed(now),
        };
        run.turn_mut().speaks_one_dialect();
        Ok(run)
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
