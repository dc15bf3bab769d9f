use serde::Serialize;
use std::fmt::Display;
use stepwell_core::run::{Misuse, SnapshotError};
use stepwell_ffi::StepwellError;

/// The error of a call that is refused. What goes wrong within a turn is not an error of a call, but the turn's
/// outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// `configuration`, `invalidArgument`, `misuse`, `snapshot` or `broken`.
    pub kind: &'static str,
    /// What went wrong.
    pub reason: String,
    /// What to do about it.
    pub advice: String,
}

impl Refused {
    /// Creates the error of an invalid argument.
    pub fn argument(what: &str, reason: impl Display) -> Self {
        Self {
            kind: "invalidArgument",
            reason: format!("{what}: {reason}"),
            advice: "look at the types of this package".to_owned(),
        }
    }

    /// Formats the error as a call returns it: `{"refused": …}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!({ "refused": self }).to_string()
    }

    /// Creates the error of a run that this call, or an earlier one, broke.
    pub(crate) fn broken(reason: impl Display) -> Self {
        StepwellError::broken(&reason).into()
    }
}

impl From<StepwellError> for Refused {
    fn from(error: StepwellError) -> Self {
        let kind = error.kind();
        let (reason, advice) = error.into_words();
        Self {
            kind,
            reason,
            advice,
        }
    }
}

impl From<Misuse> for Refused {
    fn from(misuse: Misuse) -> Self {
        StepwellError::from(misuse).into()
    }
}

impl From<SnapshotError> for Refused {
    fn from(error: SnapshotError) -> Self {
        StepwellError::from(error).into()
    }
}
