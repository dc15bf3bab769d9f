//! The JSON Schemas of tools' arguments: what is checked of a call, and the form in which a provider takes the schema.
//!
//! A provider takes a part of JSON Schema, and refuses a request, with all tools in it, for one schema that goes beyond
//! that part. `fit` writes the same schema in words that the provider takes. Where the root is what it refuses, the
//! model is given other words than the tool has: [`Spelling`] goes from the one to the other and back.

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
