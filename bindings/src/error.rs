use std::any::Any;
use std::fmt::Display;
use stepwell_core::event::MediaError;
use stepwell_core::provider::{EndpointError, UnknownProvider};
use stepwell_core::run::{Misuse, SnapshotError};
#[cfg(feature = "uniffi")]
use uniffi::UnexpectedUniFFICallbackError;

/// An error of a call to Stepwell. What goes wrong within a turn is not an error of a call, but the turn's `Outcome`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum StepwellError {
    /// The configuration does not work: the provider is unknown, a key is missing, or a tool cannot be registered.
    #[error("{reason}; {advice}")]
    Configuration {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// An argument is invalid: text that is not JSON, say.
    #[error("{reason}; {advice}")]
    InvalidArgument {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The call does not fit the state of the run: the app's own mistake. The run is unchanged.
    #[error("{reason}; {advice}")]
    Misuse {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The snapshot cannot be read.
    #[error("{reason}; {advice}")]
    Snapshot {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// This call, or an earlier one, broke off inside Stepwell, so the run cannot be trusted any more.
    #[error("{reason}; {advice}")]
    Broken {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The text is no journal, or the run differs from its journal.
    #[error("{reason}; {advice}")]
    Journal {
        /// What went wrong, and where.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The store cannot be read or written, or does not have what was asked for.
    #[error("{reason}; {advice}")]
    Store {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The handle belongs to a run that no longer owns its thread. Nothing was changed.
    #[error("{reason}; {advice}")]
    Stale {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The system does not provide what the agent needs: threads, or an HTTP client.
    #[error("{reason}; {advice}")]
    Unavailable {
        /// What went wrong.
        reason: String,
        /// What to do about it.
        advice: String,
    },
}

impl StepwellError {
    pub(crate) fn configuration(reason: &dyn Display, advice: &str) -> Self {
        Self::Configuration {
            reason: reason.to_string(),
            advice: advice.to_owned(),
        }
    }

    pub(crate) fn invalid(reason: &dyn Display, advice: &str) -> Self {
        Self::InvalidArgument {
            reason: reason.to_string(),
            advice: advice.to_owned(),
        }
    }

    pub(crate) fn misuse(reason: &dyn Display, advice: &str) -> Self {
        Self::Misuse {
            reason: reason.to_string(),
            advice: advice.to_owned(),
        }
    }

    #[cfg(feature = "uniffi")]
    pub(crate) fn journal(reason: &dyn Display, advice: &str) -> Self {
        Self::Journal {
            reason: reason.to_string(),
            advice: advice.to_owned(),
        }
    }

    /// Returns the kind of the error in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration { .. } => "configuration",
            Self::InvalidArgument { .. } => "invalidArgument",
            Self::Misuse { .. } => "misuse",
            Self::Snapshot { .. } => "snapshot",
            Self::Broken { .. } => "broken",
            Self::Journal { .. } => "journal",
            Self::Store { .. } => "store",
            Self::Stale { .. } => "stale",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// Returns what went wrong, and what to do about it.
    #[must_use]
    pub fn into_words(self) -> (String, String) {
        match self {
            Self::Configuration { reason, advice }
            | Self::InvalidArgument { reason, advice }
            | Self::Misuse { reason, advice }
            | Self::Snapshot { reason, advice }
            | Self::Broken { reason, advice }
            | Self::Journal { reason, advice }
            | Self::Store { reason, advice }
            | Self::Stale { reason, advice }
            | Self::Unavailable { reason, advice } => (reason, advice),
        }
    }

    /// Creates the error of a run that this call, or an earlier one, broke.
    pub fn broken(reason: &dyn Display) -> Self {
        Self::Broken {
            reason: reason.to_string(),
            advice: "restore the run's last snapshot, and please report the panic".to_owned(),
        }
    }

    /// Creates the error of media that cannot be a part. The media's errors say what to do after the last `;`.
    fn media(error: &dyn Display) -> Self {
        let words = error.to_string();
        let (reason, advice) = words.rsplit_once("; ").unwrap_or((&words, ""));
        Self::invalid(&reason, advice)
    }

    /// Converts a caught panic.
    #[must_use]
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no reason given".to_owned());
        Self::broken(&format!("a call broke off inside Stepwell: {said}"))
    }
}

impl From<Misuse> for StepwellError {
    fn from(misuse: Misuse) -> Self {
        let advice = match &misuse {
            Misuse::WrongState { .. } => {
                "look at the run's state first, and give each input where it belongs"
            }
            Misuse::WrongEffect { .. } => "give back the id of the very effect that you answer",
            Misuse::NotOpened { .. } => "call `opened` when the response's head is there",
            Misuse::OutputsWait { .. } => "carry out the outputs of the last call first",
            Misuse::Resume(_) => "answer each open interrupt once, all in one call",
            Misuse::EditedArguments(_) => {
                let advice = "show the user what does not fit, and ask again";
                return Self::invalid(&misuse, advice);
            }
            Misuse::Answer(_) => {
                let advice = "show the user what does not fit, and ask the question again";
                return Self::invalid(&misuse, advice);
            }
            Misuse::Question(_) => {
                let advice = "give a JSON Schema, and number a call's questions 0, 1, 2, …";
                return Self::invalid(&misuse, advice);
            }
            Misuse::PartialTooLarge(_) => {
                let advice = "show less of the result: its end, or its size";
                return Self::invalid(&misuse, advice);
            }
            Misuse::UnknownModel { .. } => {
                "give the number of a model: 0 is the configuration's own, 1 the first of its fallback"
            }
            Misuse::Disposed { .. } => {
                "make another machine of the `snapshot` by `revive`, and give it the input"
            }
            Misuse::Broken => return Self::broken(&misuse),
        };
        Self::misuse(&misuse, advice)
    }
}

#[cfg(feature = "agent")]
impl From<stepwell_io::turn::TurnError> for StepwellError {
    fn from(error: stepwell_io::turn::TurnError) -> Self {
        use stepwell_io::turn::TurnError;
        let advice = match error {
            TurnError::Misuse(misuse) => return misuse.into(),
            TurnError::Over => "begin another turn",
            TurnError::NotUnderWay(_) | TurnError::NotAwaited(_) => {
                "follow the event `ToolCallUpdate` to know where a call stands"
            }
            TurnError::NotPending { .. } => "list what waits with `pending`",
            _ => "read the documentation of `Turn`",
        };
        Self::misuse(&error, advice)
    }
}

#[cfg(feature = "agent")]
impl From<stepwell_io::Error> for StepwellError {
    fn from(error: stepwell_io::Error) -> Self {
        use std::error::Error as _;
        use stepwell_core::tool::ToolError;
        use stepwell_io::BuildError;
        use stepwell_io::store::StoreError;
        use stepwell_io::turn::{ReviveError, TurnError};
        if let Some(source) = error.source() {
            if let Some(source) = source.downcast_ref::<TurnError>() {
                return source.clone().into();
            }
            if let Some(source) = source.downcast_ref::<ToolError>() {
                return source.clone().into();
            }
            if let Some(BuildError::Tool(source)) = source.downcast_ref() {
                return source.clone().into();
            }
            if let Some(source) = source.downcast_ref::<EndpointError>() {
                return source.clone().into();
            }
            if let Some(source) = source.downcast_ref::<StoreError>() {
                return source.clone().into();
            }
            if let Some(source) = source.downcast_ref::<ReviveError>() {
                return source.clone().into();
            }
        }
        Self::configuration(&error.message(), error.advice())
    }
}

#[cfg(feature = "agent")]
impl From<stepwell_io::turn::ReviveError> for StepwellError {
    fn from(error: stepwell_io::turn::ReviveError) -> Self {
        match error {
            stepwell_io::turn::ReviveError::Snapshot(error) => error.into(),
            other => Self::misuse(&other, "give the snapshot of a turn that rested"),
        }
    }
}

impl From<SnapshotError> for StepwellError {
    fn from(error: SnapshotError) -> Self {
        let advice = match &error {
            SnapshotError::OtherVersion { .. } => {
                "use the release that wrote it, or start a new run on its messages"
            }
            SnapshotError::OtherDialect { .. } => {
                "give the configuration that the run was made with"
            }
            _ => "give the text just as `snapshot` returned it, or start a new run",
        };
        Self::Snapshot {
            reason: error.to_string(),
            advice: advice.to_owned(),
        }
    }
}

impl From<MediaError> for StepwellError {
    fn from(error: MediaError) -> Self {
        Self::media(&error)
    }
}

#[cfg(feature = "agent")]
impl From<stepwell_io::media::MediaError> for StepwellError {
    fn from(error: stepwell_io::media::MediaError) -> Self {
        Self::media(&error)
    }
}

impl From<UnknownProvider> for StepwellError {
    fn from(error: UnknownProvider) -> Self {
        Self::configuration(
            &error,
            "for any other server that speaks Chat Completions use `openai-compatible` with a base URL",
        )
    }
}

impl From<EndpointError> for StepwellError {
    fn from(error: EndpointError) -> Self {
        let advice = match &error {
            EndpointError::Api(_) => "leave `api` out for the provider's usual one",
            EndpointError::NoBaseUrl { .. } | EndpointError::BadBaseUrl { .. } => {
                "set `base_url` (`baseUrl`) to the server's whole address, such as `https://example.org/v1`"
            }
            EndpointError::NoBackground { .. } => "leave the background out for this model",
            EndpointError::BadProject { .. } => {
                "set `base_url` (`baseUrl`) to the project and its location, or to a whole address"
            }
            EndpointError::BadRegion { .. } => {
                "set `base_url` (`baseUrl`) to a region, or to a whole address"
            }
            EndpointError::NoModel { .. } => "set `model`",
            EndpointError::NoKey { .. } => {
                "give the model a key; an agent on a server also reads that environment variable"
            }
            EndpointError::BadKey { .. } => {
                "set `key` without it: a file that a key is in often ends with a line break"
            }
            EndpointError::BadHeader { .. } => "set `headers` without it",
        };
        Self::configuration(&error, advice)
    }
}

impl From<stepwell_core::tool::ToolError> for StepwellError {
    fn from(error: stepwell_core::tool::ToolError) -> Self {
        Self::configuration(&error, "look at the tool's definition")
    }
}

/// The error of an app's tool that cannot do its work. The model is shown the reason and can continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum ToolError {
    /// The tool ran and returned an error.
    #[error("{reason}")]
    Failed {
        /// Why, for the model to read.
        reason: String,
    },
    /// The tool has begun something whose result comes later, in minutes or days, by `Turn.finish_call` or
    /// `Turn.fail_call`. This is not a failure.
    #[error("the result comes later")]
    Deferred,
    /// The tool's code threw an exception that the tool does not declare.
    #[error("{reason}")]
    Unexpected {
        /// The exception, as the language words it.
        reason: String,
    },
}

#[cfg(feature = "uniffi")]
impl From<UnexpectedUniFFICallbackError> for ToolError {
    fn from(error: UnexpectedUniFFICallbackError) -> Self {
        Self::Unexpected {
            reason: error.reason,
        }
    }
}

/// The error of app code other than a tool: an approver, a listener.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum CallbackError {
    /// It failed.
    #[error("{reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

#[cfg(feature = "uniffi")]
impl From<UnexpectedUniFFICallbackError> for CallbackError {
    fn from(error: UnexpectedUniFFICallbackError) -> Self {
        Self::Failed {
            reason: error.reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use stepwell_core::{run, tool};

    #[test]
    fn every_misuse_says_what_to_do_about_it() {
        let input = "Ended";
        let effect = run::EffectId::Tool(stepwell_core::CallKey { hop: 0, index: 0 });
        let resume = run::ResumeError::Unknown("interrupt".to_owned());
        let rejection = tool::Rejection::NotJson {
            name: "tool".to_owned(),
            reason: "a brace is missing".to_owned(),
        };
        let samples = vec![
            Misuse::WrongState {
                state: run::StateKind::Idle,
                input,
            },
            Misuse::WrongEffect { input, effect },
            Misuse::NotOpened { input, effect },
            Misuse::OutputsWait { input },
            Misuse::Resume(resume),
            Misuse::EditedArguments(rejection),
            Misuse::Answer("no number".to_owned()),
            Misuse::Question(run::QuestionError::TooMany),
            Misuse::PartialTooLarge(run::PartialTooLarge { bytes: 1 << 20 }),
            Misuse::Broken,
            Misuse::Disposed { input },
        ];
        let mut advices = BTreeSet::new();
        for sample in samples {
            let error = StepwellError::from(sample.clone());
            assert!(error.to_string().contains(&sample.to_string()), "{error}");
            let (StepwellError::Misuse { advice, .. }
            | StepwellError::InvalidArgument { advice, .. }
            | StepwellError::Broken { advice, .. }) = error
            else {
                panic!("{error:?}");
            };
            assert!(!advice.contains("documentation"), "{sample:?}: {advice}");
            assert!(advices.insert(advice), "{sample:?}");
        }
    }
}
