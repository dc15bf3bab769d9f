use serde::Serialize;
use std::fmt::Display;
use stepwell_core::run::{Misuse, SnapshotError};

/// A call that cannot be done. What goes wrong within a turn is no error of a call: it is the turn's outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// `configuration`, `invalidArgument`, `misuse`, `snapshot` or `broken`.
    pub kind: &'static str,
    /// What went wrong.
    pub reason: String,
    /// What to do about it.
    pub advice: &'static str,
}

impl Refused {
    /// A configuration that does not work.
    pub fn configuration(reason: impl Display) -> Self {
        Self {
            kind: "configuration",
            reason: reason.to_string(),
            advice: "look at the configuration",
        }
    }

    /// An argument that is not what it should be.
    pub fn argument(what: &str, reason: impl Display) -> Self {
        Self {
            kind: "invalidArgument",
            reason: format!("{what}: {reason}"),
            advice: "look at the types of this package",
        }
    }

    /// The same as a call gives it: `{"refused": …}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!({ "refused": self }).to_string()
    }

    /// A run that an earlier call, or this one, broke.
    pub(crate) fn broken(reason: impl Display) -> Self {
        Self {
            kind: "broken",
            reason: reason.to_string(),
            advice: "restore the run's last snapshot, and please report the panic",
        }
    }
}

impl From<Misuse> for Refused {
    fn from(misuse: Misuse) -> Self {
        let (kind, advice) = match &misuse {
            Misuse::EditedArguments(_) => (
                "invalidArgument",
                "show the person what does not fit, and ask again",
            ),
            Misuse::WrongEffect { .. } => (
                "misuse",
                "give back the id of the very effect that you answer",
            ),
            Misuse::NotOpened { .. } => {
                ("misuse", "call `opened` when the response's head is there")
            }
            Misuse::Disposed { .. } => (
                "misuse",
                "make another machine of the `snapshot` by `revive`, and give it the input",
            ),
            Misuse::Broken => return Self::broken(&misuse),
            _ => (
                "misuse",
                "look at the run's state first, and give each input where it belongs",
            ),
        };
        Self {
            kind,
            reason: misuse.to_string(),
            advice,
        }
    }
}

impl From<SnapshotError> for Refused {
    fn from(error: SnapshotError) -> Self {
        Self {
            kind: "snapshot",
            reason: error.to_string(),
            advice: "give the text just as `snapshot` returned it, with the configuration of the run",
        }
    }
}
