//! Turns that survive their process: what an agent with a store writes of them.

mod before;
mod beginning;
mod history;
mod own_lease;
mod retry;
mod stored;
mod take_over;
mod writer;

pub(crate) use before::BeginFrom;
pub(crate) use beginning::{Beginning, not_stored};
pub(crate) use history::{history, last_of, revive_stored};
pub(crate) use own_lease::OwnLease;
pub(crate) use retry::{StoreNotices, StoreRetry, in_time};
pub(crate) use stored::StoreSetup;
pub use stored::StoredTurn;
pub(crate) use writer::{StoreTrouble, Writer};
