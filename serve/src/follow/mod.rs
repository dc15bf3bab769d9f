//! Readers of turns and runs.

mod engine_error;
#[allow(clippy::module_inception)]
mod follow;
mod followers;
#[cfg(feature = "axum")]
mod log_read;
mod prelude;
mod run_stream;
mod turn_frames;

pub(crate) use follow::Reading;
pub(crate) use follow::Scope;
pub use follow::{Follow, FollowError};
pub(crate) use followers::Followers;
#[cfg(feature = "axum")]
pub(crate) use log_read::{LogPart, LogRead};
pub(crate) use prelude::{dropped, prelude};
pub use run_stream::RunStream;
