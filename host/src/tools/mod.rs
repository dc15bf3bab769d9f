//! The tools that `stepwell chat` has built in.

pub(crate) mod calculator;
pub(crate) mod clock;
