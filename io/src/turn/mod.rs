//! A turn under way: its driver, its effects, its raw events and its handle.

pub(crate) mod alarm;
pub(crate) mod caller;
mod chunks;
pub(crate) mod current;
pub(crate) mod driver;
mod effects;
pub(crate) mod events;
pub(crate) mod finished;
pub(crate) mod handle;
pub(crate) mod journaled;
pub(crate) mod owner;
mod stream;
