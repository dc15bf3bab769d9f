//! Any history, legal for any provider: the legaliser, and its requests over every pair of providers.

mod histories;
mod kimi;
mod matrix;
mod pieces;
mod properties;
mod random;
mod rules;
pub(crate) mod targets;
