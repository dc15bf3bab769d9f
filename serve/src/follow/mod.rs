//! Who follows turns.

#[allow(clippy::module_inception)]
mod follow;
mod followers;

pub use follow::{Follow, FollowError, Reading};
pub use followers::Followers;
