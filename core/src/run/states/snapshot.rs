use crate::hash::fnv1a;
use crate::run::protocol::{RunConfig, StateKind};
use crate::run::turn::Turn;
use crate::run::turn::checkpoint::Basis;
use serde::Serialize;

/// The version of a snapshot's format. A change after which snapshots from before cannot be read raises it.
pub(crate) const VERSION: u64 = 1;

#[derive(Serialize)]
struct Envelope<'a, S> {
    v: u64,
    dialect: &'static str,
    tools: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<u64>,
    state: StateKind,
    /// The basis of a checkpoint; a snapshot of the complete run has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<Basis<'a>>,
    run: Stored<'a, S>,
}

#[derive(Serialize)]
struct Stored<'a, S> {
    core: &'a Turn,
    state: &'a S,
}

/// Returns the digest of the tools. A change of the tools while a run is stored is not an error, but the host should
/// know.
pub(crate) fn tools_digest(config: &RunConfig) -> u64 {
    fnv1a(&serde_json::to_vec(config.tools.definitions()).unwrap_or_default())
}

/// Returns the digest of the hooks; `None` if there are none.
pub(crate) fn hooks_digest(config: &RunConfig) -> Option<u64> {
    let hooks = Some(&config.hooks).filter(|hooks| !hooks.is_empty())?;
    Some(fnv1a(&serde_json::to_vec(hooks).unwrap_or_default()))
}

/// The run as text.
pub(super) fn write<S: Serialize>(turn: &Turn, kind: StateKind, state: &S) -> String {
    write_with(None, turn, kind, state)
}

/// Returns, as text, what must be stored in addition to the run's blocks.
pub(super) fn write_checkpoint<S: Serialize>(turn: &Turn, kind: StateKind, state: &S) -> String {
    let (turn, basis) = turn.once_stored();
    write_with(Some(basis), &turn, kind, state)
}

fn write_with<S: Serialize>(
    basis: Option<Basis<'_>>,
    turn: &Turn,
    kind: StateKind,
    state: &S,
) -> String {
    let envelope = Envelope {
        v: VERSION,
        dialect: turn.config().endpoint.dialect.name(),
        tools: tools_digest(turn.config()),
        hooks: hooks_digest(turn.config()),
        state: kind,
        basis,
        run: Stored { core: turn, state },
    };
    // Maps with string keys and no fallible serialiser: there is nothing that can fail.
    serde_json::to_string(&envelope).unwrap_or_default()
}
