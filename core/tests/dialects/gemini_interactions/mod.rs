//! The Interactions API of Gemini.

mod request;
mod round_trip;
mod steps;
pub(crate) mod support;
mod whole;
