//! The reason why a schema cannot be used.

use std::fmt;

/// A schema that cannot be used for checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// The position in the schema, as a JSON Pointer, if it is known.
    pub(crate) path: String,
    pub(crate) reason: String,
    /// Whether the schema is valid, but a check could take too long or too much memory.
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
