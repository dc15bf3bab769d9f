use crate::refused::Refused;
use serde::Deserialize;
use stepwell_core::event::{Message, ResumeEntry};
use stepwell_core::run::{self, RunConfig};
use stepwell_ffi::TurnOptions;

/// What starts a turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Start {
    run_id: String,
    parent_run_id: Option<String>,
    text: Option<String>,
    message: Option<Message>,
    #[serde(default)]
    resume: Vec<ResumeEntry>,
    #[serde(default)]
    options: TurnOptions,
}

impl Start {
    /// The core's start of a turn that is else as `config` says.
    ///
    /// # Errors
    /// With both `text` and `message`, or options that cannot be.
    pub fn into_core(self, config: &RunConfig) -> Result<run::Start, Refused> {
        let message = match (self.text, self.message) {
            (Some(_), Some(_)) => {
                let reason = "a turn starts with `text` or with `message`, not with both";
                return Err(Refused::argument("the start", reason));
            }
            (Some(text), None) => Some(Message::user(format!("{}-user", self.run_id), text)),
            (None, message) => message,
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
