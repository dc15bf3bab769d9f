//! JSON Schemas of tools: the check of a call's arguments, and the form of the schema that a provider takes.
//!
//! A provider supports a subset of JSON Schema, and refuses a request with all its tools if one schema is outside of
//! that subset. `fit` translates a schema to the subset. Where the provider refuses the root of a schema, the model
//! sees another schema than the tool has, and [`Spelling`] translates the arguments in both directions.

#[cfg(feature = "json-schema")]
mod check;
#[cfg(feature = "json-schema")]
mod cost;
mod fault;
mod fit;
mod gemini;
mod hold;
#[cfg(feature = "json-schema")]
mod pattern;
#[cfg(feature = "json-schema")]
mod plan;
mod recursion;
mod root;
mod spelling;
#[cfg(not(feature = "json-schema"))]
mod unchecked;
mod upgrade;
mod words;

#[cfg(test)]
mod bombs;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(feature = "json-schema")]
pub(crate) use check::Weight;
#[cfg(feature = "json-schema")]
pub use check::{Check, CheckSteps};
pub use fault::SchemaFault;
pub(crate) use fit::{Rules, fit};
pub(crate) use hold::{Grammar, hold};
pub use spelling::Spelling;
#[cfg(not(feature = "json-schema"))]
pub(crate) use unchecked::Weight;
#[cfg(not(feature = "json-schema"))]
pub use unchecked::{Check, CheckSteps};
