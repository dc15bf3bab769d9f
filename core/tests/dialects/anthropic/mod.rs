//! The Messages dialect, through its public API: what the wire may hold, cutting, snapshots, requests.

pub(crate) mod support;

mod blocks;
mod conversation;
mod ends;
mod request;
