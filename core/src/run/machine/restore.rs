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
    /// It was made by a later version.
    #[error(
        "the snapshot is of version {found}, and this is a program for versions up to {VERSION}: update it"
    )]
    TooNew {
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
    v: u64,
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
    let head: Head = json::from_str(snapshot).map_err(malformed)?;
    let head = upgraded(head)?;
    let mut run = head.run;
    let _ = with_present_names(&mut run, config.limits.max_tool_rounds);
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

/// Gives a snapshot from before there were other limits than the rounds of tools the names that these have now; nothing
/// if it is none.
fn with_present_names(run: &mut Value, max: u32) -> Option<()> {
    const BEFORE: &str = "tools_withheld";
    let core = run.get_mut("core")?.as_object_mut()?;
    if core.shift_remove(BEFORE)? == Value::Bool(true) {
        core.insert("reached".to_owned(), rounds(&serde_json::json!(max)));
    }
    let waiting = core
        .get_mut("outbox")
        .and_then(|outbox| outbox.get_mut("entries"));
    let waiting = waiting.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in waiting {
        if let Some(outcome) = entry.pointer_mut("/Event/completed") {
            rename_outcome(outcome, max);
        }
    }
    if let Some(outcome) = run.pointer_mut("/state/outcome") {
        rename_outcome(outcome, max);
    }
    Some(())
}

fn rounds(max: &Value) -> Value {
    serde_json::json!({ "kind": "max_tool_rounds", "max": max })
}

fn rename_outcome(outcome: &mut Value, max: u32) {
    if outcome["outcome"] == "max_tool_rounds" {
        *outcome = serde_json::json!({ "outcome": "limit_reached", "limit": rounds(&serde_json::json!(max)) });
    } else if let Some(failure) = outcome.get_mut("failure")
        && failure["failure"] == "too_many_tool_rounds"
    {
        *failure =
            serde_json::json!({ "failure": "limit_reached", "limit": rounds(&failure["limit"]) });
    }
}

/// Brings an older snapshot up to date.
fn upgraded(head: Head) -> Result<Head, SnapshotError> {
    match head.v {
        VERSION => Ok(head),
        found => Err(SnapshotError::TooNew { found }),
    }
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
