//! A run that was stored: its snapshot is read, and it goes on, in the same host or in another.

use crate::Timestamp;
use crate::json;
use crate::run::protocol::{Input, RunConfig, StateKind};
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

/// Reads a snapshot of a run that speaks the dialect of `config`.
pub(super) fn read(snapshot: &str, config: Arc<RunConfig>) -> Result<AnyRun, SnapshotError> {
    let (run, spoke) = read_any(snapshot, config)?;
    let turn = run.turn().filter(|turn| turn.is_of_another_dialect());
    match turn.map(|turn| turn.config().endpoint.dialect.name()) {
        None => Ok(run),
        Some(configured) => Err(SnapshotError::OtherDialect {
            found: spoke,
            configured,
        }),
    }
}

/// Reads a snapshot, whatever dialect the run spoke, and says which that was.
pub(super) fn read_any(
    snapshot: &str,
    config: Arc<RunConfig>,
) -> Result<(AnyRun, String), SnapshotError> {
    let malformed =
        |error: serde_json::Error| SnapshotError::Malformed(json::unquoted(&error.to_string()));
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
    ) -> Result<AnyRun, serde_json::Error>
    where
        AnyRun: From<Run<S>>,
    {
        let state: S = json::field(run, "state")?;
        Ok(Run::of(turn, state).into())
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
    Ok((run.map_err(malformed)?, head.dialect))
}

impl AnyRun {
    /// The host died, and the policy is that the turn ends with it.
    pub(super) fn killed(mut self, now: Timestamp) -> Self {
        if matches!(self, Self::Idle(_) | Self::Completed(_)) {
            return self.revive(now);
        }
        if let Some(turn) = self.turn_mut() {
            turn.forget_host();
        }
        self.step(Input::Cancel, now).0
    }
}
