//! What is wrong with a schema.

use std::fmt;

/// A schema that no value is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// Where in the schema, as a JSON Pointer, if that is known.
    pub(crate) path: String,
    pub(crate) reason: String,
    /// It is a schema, but a check could take too long or too much memory.
    pub(crate) is_too_costly: bool,
}

impl SchemaFault {
    #[cfg(feature = "json-schema")]
    pub(super) fn too_costly(path: String, reason: String) -> Self {
        Self {
            path,
            reason,
            is_too_costly: true,
        }
    }
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_too_costly {
            formatter.write_str("a check against it could cost too much: ")?;
        }
        formatter.write_str(&self.reason)?;
        if !self.path.is_empty() {
            write!(formatter, " (at {})", self.path)?;
        }
        Ok(())
    }
}
