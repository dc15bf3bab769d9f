#[cfg(feature = "restate")]
mod restate;

use crate::serve;
use crate::settings::{EngineName, EngineSettings};
use stepwell_demo::Failure;

/// Returns the engine that the settings name, for turns in the store at this address.
pub(super) fn engine(
    settings: &EngineSettings,
    store: &str,
    is_insecure: bool,
) -> Result<serve::EngineSettings, Failure> {
    match settings.engine {
        EngineName::Local if settings.restate.is_some() => Err(Failure::usage(
            "an address of Restate is set, and the engine is `local`: say --engine restate too",
        )),
        EngineName::Local => Ok(serve::EngineSettings::Local),
        EngineName::Restate => restate(settings, store, is_insecure),
    }
}

#[cfg(feature = "restate")]
use restate::restate;

#[cfg(not(feature = "restate"))]
fn restate(_: &EngineSettings, _: &str, _: bool) -> Result<serve::EngineSettings, Failure> {
    Err(Failure::usage(
        "this program was built without the engine `restate`: build it with `--features restate`",
    ))
}
