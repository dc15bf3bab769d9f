//! The definition of an agent, without its types.

pub(crate) mod code;
pub(crate) mod parts;
pub(crate) mod shared;
pub(crate) mod sources;
