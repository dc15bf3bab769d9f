use super::change::{Change, MisplacedChange};
use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A [`Change`] that is kept or sent: with its path and value its own, and written the same.
///
/// ```
/// use serde_json::{Value, json};
/// use stepwell_llm::tool::OwnedChange;
///
/// let changes: Vec<OwnedChange> = serde_json::from_str(
///     r#"[{"op":"add","path":"","value":{}},{"op":"add","path":"/city","value":""},{"op":"append","path":"/city","text":"Os"}]"#,
/// )?;
/// let mut view = Value::Null;
/// for change in &changes {
///     change.apply(&mut view)?;
/// }
/// assert_eq!(view, json!({"city": "Os"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OwnedChange {
    /// See [`Change::Add`].
    Add {
        /// Where. Most paths are short enough to stand here by themselves, without an allocation.
        path: CompactString,
        /// The value it begins with.
        value: Value,
    },
    /// See [`Change::Append`].
    Append {
        /// Which.
        path: CompactString,
        /// By this; never empty.
        text: CompactString,
    },
    /// See [`Change::End`].
    End {
        /// Which.
        path: CompactString,
    },
    /// See [`Change::Replace`].
    Replace {
        /// The member, or the innermost thing around what differs.
        path: CompactString,
        /// The value it has.
        value: Value,
    },
}

impl OwnedChange {
    /// The change, borrowed.
    #[must_use]
    pub fn as_change(&self) -> Change<'_> {
        match self {
            Self::Add { path, value } => Change::Add { path, value },
            Self::Append { path, text } => Change::Append { path, text },
            Self::End { path } => Change::End { path },
            Self::Replace { path, value } => Change::Replace { path, value },
        }
    }

    /// Makes the change in `value`; see [`Change::apply`].
    ///
    /// # Errors
    /// The place is not there: a change was left out, or `value` is another's.
    pub fn apply(&self, value: &mut Value) -> Result<(), MisplacedChange> {
        self.as_change().apply(value)
    }
}

impl From<Change<'_>> for OwnedChange {
    fn from(change: Change<'_>) -> Self {
        match change {
            Change::Add { path, value } => Self::Add {
                path: path.into(),
                value: value.clone(),
            },
            Change::Append { path, text } => Self::Append {
                path: path.into(),
                text: text.into(),
            },
            Change::End { path } => Self::End { path: path.into() },
            Change::Replace { path, value } => Self::Replace {
                path: path.into(),
                value: value.clone(),
            },
        }
    }
}
