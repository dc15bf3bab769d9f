use crate::refused::Refused;
use serde::Deserialize;
use stepwell_core::event::{ContentPart, Message, ResumeEntry};
use stepwell_core::run::{self, RunConfig};
use stepwell_ffi::TurnOptions;

/// The JSON that starts a turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Start {
    run_id: String,
    parent_run_id: Option<String>,
    text: Option<String>,
    #[serde(default)]
    parts: Vec<ContentPart>,
    message: Option<Message>,
    #[serde(default)]
    resume: Vec<ResumeEntry>,
    #[serde(default)]
    options: TurnOptions,
}

impl Start {
    /// Converts to the core's start of a turn, based on `config`.
    ///
    /// # Errors
    /// Both `text` and `message` are set, or the options are invalid.
    pub(crate) fn into_core(self, config: &RunConfig) -> Result<run::Start, Refused> {
        let message = match (self.text, self.message) {
            (Some(_), Some(_)) => {
                let reason = "a turn starts with `text` or with `message`, not with both";
                return Err(Refused::argument("the start", reason));
            }
            (Some(text), None) if self.parts.is_empty() => {
                Some(Message::user(format!("{}-user", self.run_id), text))
            }
            (None, Some(_)) if !self.parts.is_empty() => {
                let reason = "a turn starts with `parts` or with `message`, not with both";
                return Err(Refused::argument("the start", reason));
            }
            (None, message) if self.parts.is_empty() => message,
            (text, _) => {
                let text = text.filter(|text| !text.is_empty()).map(ContentPart::from);
                let all: Vec<ContentPart> = text.into_iter().chain(self.parts).collect();
                Some(Message::user(format!("{}-user", self.run_id), all))
            }
        };
        Ok(run::Start {
            run_id: self.run_id.into(),
            parent_run_id: self.parent_run_id.map(Into::into),
            message,
            resume: self.resume,
            options: self.options.into_core(config)?,
        })
    }
}
