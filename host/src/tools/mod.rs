//! The built-in tools: those of `stepwell chat`, and those of the scripted models.

pub(crate) mod calculator;
pub(crate) mod clock;
pub(crate) mod count_down;
pub(crate) mod order_tea;
