//! The settings: from flags, environment variables, a file, or defaults, in that order.
//!
//! The groups in [`groups`] declare each setting once, as an argument of clap: its id is the key in the file, and `env`
//! names its variable. An argument without `env` is no setting. The other places give an argument its default value, so
//! that clap alone reads, checks and converts what they say ([`sources`]).

mod environment;
mod file;
mod groups;
mod hidden;
mod nearest;
mod setting;
mod sources;

pub(crate) use groups::{
    AllSettings, CompactionName, CompactionSettings, EngineName, EngineSettings, GlobalSettings,
    LimitSettings, LogFormat, ModelSettings, Record, SESSIONS, ServerSettings, StoreSettings,
    ToolSettings,
};
pub(crate) use hidden::hide;
pub(crate) use nearest::nearest;
pub(crate) use setting::{Origin, known_settings, variables};
pub(crate) use sources::{Sources, parse};
