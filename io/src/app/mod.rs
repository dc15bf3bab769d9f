//! The app's code that turns call, and other data that the app gives.

pub(crate) mod answerer;
pub(crate) mod approver;
pub(crate) mod asking;
#[cfg(feature = "aws")]
pub(crate) mod aws;
pub(crate) mod credentials;
pub(crate) mod hooks;
pub(crate) mod instructions;
pub(crate) mod journal;
pub mod media;
pub(crate) mod model_choice;
pub(crate) mod observer;
pub(crate) mod output;
pub(crate) mod run_source;
pub(crate) mod setup;
pub(crate) mod tools;
pub(crate) mod trim;
#[cfg(feature = "macros")]
pub(crate) mod typed_output;
