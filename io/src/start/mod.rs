//! Starts turns: an agent on a thread, and the task that prepares and drives a turn.

pub(crate) mod begin;
mod claim;
pub(crate) mod prepare;
pub(crate) mod runner;
mod task;
pub(crate) mod when_busy;
