//! Who follows turns and runs.

#[allow(clippy::module_inception)]
mod follow;
mod followers;
mod prelude;
mod run_stream;
mod turn_frames;

pub(crate) use follow::Reading;
pub(crate) use follow::Scope;
pub use follow::{Follow, FollowError};
pub(crate) use followers::Followers;
pub(crate) use prelude::prelude;
pub use run_stream::RunStream;
