//! Any history, legal for any provider: the legaliser, the validators, and the two together over every pair of providers.

mod histories;
mod matrix;
mod pieces;
mod properties;
mod random;
mod rules;
pub(crate) mod targets;
mod validators;
