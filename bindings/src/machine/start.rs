//! The start of a turn.

use crate::config::TurnOptions;
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::media::{ContentPart, content};
use stepwell_core::event::{self, Message};
use stepwell_core::transcript::Transcript;

use stepwell_core::run;
use stepwell_core::tool::ToolOutput;
use stepwell_mirror::mirror;

/// What starts a turn.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Start {
    /// The turn's id, and its first hop's run id, unless the backend makes that (`RunIds.Host`). Unique in the thread.
    pub run_id: String,
    /// The run that the first hop's run continues, for backends that need it.
    #[uniffi(default = None)]
    pub parent_run_id: Option<String>,
    /// What the user says.
    #[uniffi(default = None)]
    pub text: Option<String>,
    /// What the user says as an AG-UI message in JSON, instead of text and parts. With neither, the turn continues from
    /// a history whose last message the model should answer.
    #[uniffi(default = None)]
    pub message: Option<JsonValue>,
    /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
    #[uniffi(default)]
    pub resume: Vec<ResumeEntry>,
    /// The options of this turn that differ from the configuration.
    #[uniffi(default)]
    pub options: TurnOptions,
    /// The parts that follow the text, in order: media, and texts between them.
    #[uniffi(default)]
    pub parts: Vec<ContentPart>,
}

/// The user's answer to one `Interrupt`.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ResumeEntry {
    /// The interrupt that the entry answers.
    pub interrupt_id: String,
    /// Whether the interrupt was answered or dismissed.
    pub status: ResumeStatus,
    /// The answer: any JSON.
    #[uniffi(default = None)]
    pub payload: Option<JsonValue>,
}

mirror! {
    /// Whether an interrupt was answered.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
    #[mirror(stepwell_agui::event::ResumeStatus, both)]
    pub enum ResumeStatus;
}

/// Reads the conversation that an app passes as JSON.
pub(crate) fn transcript(
    history: Option<JsonValue>,
    shared_state: Option<JsonValue>,
) -> Result<Transcript, StepwellError> {
    let messages = history.map(|history| parse_messages("the history", history));
    let transcript = Transcript::new(messages.transpose()?.unwrap_or_default());
    Ok(match shared_state {
        Some(state) => transcript.with_shared_state(any_json("the state", state)?),
        None => transcript,
    })
}

/// Reads messages that an app passes as JSON.
pub(crate) fn parse_messages(what: &str, json: JsonValue) -> Result<Vec<Message>, StepwellError> {
    serde_json::from_str(&json.into_text()).map_err(|error| {
        let reason = format!("{what} is no JSON array of AG-UI messages: {error}");
        StepwellError::invalid(&reason, "give messages of AG-UI, as a conversation's are here: each with an `id`, a `role` and its `content`")
    })
}

pub(crate) fn any_json(what: &str, json: JsonValue) -> Result<serde_json::Value, StepwellError> {
    serde_json::from_str(&json.into_text()).map_err(|error| {
        let reason = format!("{what} is not JSON: {error}");
        StepwellError::invalid(&reason, "give JSON text")
    })
}

/// Reads an AG-UI message that an app passes as JSON.
pub(crate) fn parse_message(json: JsonValue) -> Result<Message, StepwellError> {
    serde_json::from_str(&json.into_text()).map_err(|error| {
        let reason = format!("the message is no AG-UI message: {error}");
        StepwellError::invalid(&reason, "give an object with `id`, `role` and `content`")
    })
}

/// Reads a tool's result that an app passes as JSON.
pub(crate) fn parse_parts(json: JsonValue) -> Result<ToolOutput, StepwellError> {
    let parts: Vec<event::ContentPart> =
        serde_json::from_str(&json.into_text()).map_err(|error| {
            let reason = format!("the result is no array of AG-UI content parts: {error}");
            StepwellError::invalid(
                &reason,
                "give objects with `type`, such as `text` or `image`",
            )
        })?;
    Ok(parts.into())
}

pub(crate) fn entries(answers: Vec<ResumeEntry>) -> Result<Vec<event::ResumeEntry>, StepwellError> {
    let entry = |answer: ResumeEntry| {
        let payload = answer
            .payload
            .map(|json| any_json("the answer to an interrupt", json));
        Ok(event::ResumeEntry {
            interrupt_id: answer.interrupt_id,
            status: answer.status.into(),
            payload: payload.transpose()?,
            metadata: None,
            extra: event::Metadata::new(),
        })
    };
    answers.into_iter().map(entry).collect()
}

impl Start {
    /// Converts to the core's start of a turn, based on `config`.
    pub(crate) fn into_core(self, config: &run::RunConfig) -> Result<run::Start, StepwellError> {
        let text = match self.text {
            None if !self.parts.is_empty() => Some(String::new()),
            text => text,
        };
        let message = match (text, self.message) {
            (Some(_), Some(_)) => {
                return Err(StepwellError::invalid(
                    &"a turn starts with `text` and `parts` or with `message`, not with both",
                    "leave one of them out",
                ));
            }
            (Some(text), None) => {
                let content = content(text, self.parts)?;
                Some(Message::user(format!("{}-user", self.run_id), content))
            }
            (None, Some(json)) => Some(parse_message(json)?),
            (None, None) => None,
        };
        Ok(run::Start {
            run_id: self.run_id.into(),
            parent_run_id: self.parent_run_id.map(Into::into),
            message,
            resume: entries(self.resume)?,
            options: self.options.into_core(config)?,
        })
    }
}
