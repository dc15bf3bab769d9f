use super::config::{RunConfig, fnv1a};
use super::core::Core;
use super::erased::AnyRun;
use super::fault::fault;
use super::output::RunEvent;
use super::typed::{Run, State};
use super::{Completed, ExecutingTools, Idle, Interrupted, Opening, Streaming, Waiting};
use crate::json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The version of the format below. A change that an older snapshot cannot be read by raises it, and adds a step to
/// [`upgraded`].
const VERSION: u64 = 1;

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
    /// [`RunMachine::revive`](super::RunMachine::revive) goes on with it.
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

#[derive(Serialize)]
struct Envelope<'a, S> {
    v: u64,
    dialect: &'static str,
    tools: u64,
    state: super::StateKind,
    run: StoredRef<'a, S>,
}

#[derive(Serialize)]
struct StoredRef<'a, S> {
    core: &'a Core,
    state: &'a S,
}

/// A change of the tools while a run rests is not an error, but the host should know.
fn tools_digest(config: &RunConfig) -> u64 {
    fnv1a(&serde_json::to_vec(config.tools.definitions()).unwrap_or_default())
}

pub(super) fn write<S: State>(core: &Core, state: &S) -> String {
    let envelope = Envelope {
        v: VERSION,
        dialect: core.config.endpoint.dialect.name(),
        tools: tools_digest(&core.config),
        state: S::KIND,
        run: StoredRef { core, state },
    };
    // Maps with string keys and no fallible serialiser: there is nothing that can fail.
    serde_json::to_string(&envelope).unwrap_or_default()
}

#[derive(Deserialize)]
struct Head {
    v: u64,
    dialect: String,
    tools: u64,
    state: super::StateKind,
    run: Value,
}

/// Reads a snapshot of a run that speaks the dialect of `config`.
pub(super) fn read(snapshot: &str, config: Arc<RunConfig>) -> Result<AnyRun, SnapshotError> {
    let (run, spoke) = read_any(snapshot, config)?;
    let core = run.core().filter(|core| core.is_of_another_dialect);
    match core.map(|core| core.config.endpoint.dialect.name()) {
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
    let malformed = |error: serde_json::Error| SnapshotError::Malformed(error.to_string());
    let head: Head = json::from_str(snapshot).map_err(malformed)?;
    let head = upgraded(head)?;
    let mut run = head.run;
    let _ = with_present_names(&mut run, config.limits.max_tool_rounds);
    let tools_changed = head.tools != tools_digest(&config);

    let mut core: Box<Core> = json::field(&mut run, "core").map_err(malformed)?;
    core.is_of_another_dialect = head.dialect != config.endpoint.dialect.name();
    core.config = config;
    if fault!(TimersLostAtRestore) {
        core.timers.stop_all();
    }
    let Core {
        config,
        outbox,
        conversation,
        ..
    } = &mut *core;
    outbox.read_arguments(config, conversation);
    outbox.show_text(config.text);
    if tools_changed {
        let message = "the tools have changed since the run was stored".to_owned();
        core.event(RunEvent::Warning { message });
    }

    fn with<S: State + DeserializeOwned>(
        core: Box<Core>,
        run: &mut Value,
    ) -> Result<AnyRun, serde_json::Error>
    where
        AnyRun: From<Run<S>>,
    {
        let state: S = json::field(run, "state")?;
        Ok(Run { core, state }.into())
    }
    use super::StateKind as Kind;
    let run = match head.state {
        Kind::Idle => with::<Idle>(core, &mut run),
        Kind::Opening => with::<Opening>(core, &mut run),
        Kind::Waiting => with::<Waiting>(core, &mut run),
        Kind::Streaming => with::<Streaming>(core, &mut run),
        Kind::ExecutingTools => with::<ExecutingTools>(core, &mut run),
        Kind::Interrupted => with::<Interrupted>(core, &mut run),
        Kind::Completed => with::<Completed>(core, &mut run),
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
