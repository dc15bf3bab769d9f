//! The options of one turn that differ from its agent's.

use super::{GenerationSettings, Limits, OutputType, ToolDefinition, WhenBusy};
use crate::error::StepwellError;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use stepwell_core::run;
use stepwell_core::tool::ToolRegistry;

/// The options of one turn that differ from its configuration; an option that is left out is as in the configuration.
///
/// The options are stored with the turn, and a revived turn continues with them, except for two things. The headers may
/// be secret and are not stored, and calls of the turn's own tools are answered as those of a tool without code.
#[derive(Clone, Default, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[uniffi::export(Debug, Display)]
pub struct TurnOptions {
    /// The app's instructions, instead of the configuration's.
    #[uniffi(default = None)]
    pub instructions: Option<String>,
    /// The settings for the model's answers; they override those of the configuration.
    #[uniffi(default = None)]
    pub settings: Option<GenerationSettings>,
    /// The limits of the turn, which replace all of the configuration's limits.
    #[uniffi(default = None)]
    pub limits: Option<Limits>,
    /// Which of the configuration's tools are on offer, by name; all of them if absent.
    #[uniffi(default = None)]
    pub tool_names: Option<Vec<String>>,
    /// Tools of this turn only, for a `RunMachine`; an `Agent` takes them with their code. A tool replaces the
    /// configuration's tool of the same name.
    #[uniffi(default = [])]
    pub tools: Vec<ToolDefinition>,
    /// The end user that the turn is for, as `GenerationSettings.user`.
    #[uniffi(default = None)]
    pub user: Option<String>,
    /// The type of the answer, instead of the configuration's.
    #[uniffi(default = None)]
    pub output: Option<OutputType>,
    /// Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left. It is
    /// compacted again where it is too long.
    #[uniffi(default = false)]
    pub whole_history: bool,
    /// What happens if another turn of the thread is under way, instead of what the configuration says. Not stored, and
    /// ignored by a `RunMachine`.
    #[uniffi(default = None)]
    pub when_busy: Option<WhenBusy>,
    /// Additional headers, which replace the configuration's headers of the same names. They are not stored.
    #[uniffi(default)]
    pub headers: HashMap<String, String>,
}

impl fmt::Debug for TurnOptions {
    /// Prints only the names of the headers: one of them may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.name).collect();
        let headers: Vec<_> = self.headers.keys().collect();
        f.debug_struct("TurnOptions")
            .field("instructions", &self.instructions)
            .field("settings", &self.settings)
            .field("limits", &self.limits)
            .field("tool_names", &self.tool_names)
            .field("tools", &tools)
            .field("user", &self.user)
            .field("output", &self.output)
            .field("whole_history", &self.whole_history)
            .field("when_busy", &self.when_busy)
            .field("headers", &headers)
            .finish()
    }
}

impl fmt::Display for TurnOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl TurnOptions {
    /// Converts to the core's options of a turn, based on `config`.
    ///
    /// # Errors
    /// A tool cannot be registered, a name is that of no tool, or a header cannot be sent.
    pub fn into_core(self, config: &run::RunConfig) -> Result<run::TurnOptions, StepwellError> {
        let mut tools = ToolRegistry::new();
        for tool in self.tools {
            tools.add(tool.try_into()?)?;
        }
        let settings = self
            .settings
            .map(|settings| settings.over(&config.settings));
        // A map has no order; equal options should give equal requests.
        let headers: BTreeMap<_, _> = self.headers.into_iter().collect();
        let options = run::TurnOptions {
            instructions: self.instructions,
            tool_names: self.tool_names,
            tools,
            settings: settings.transpose()?,
            limits: self.limits.map(Limits::into_core).transpose()?,
            user: self.user,
            output: self.output.map(OutputType::into_core).transpose()?,
            whole_history: self.whole_history,
            headers: Vec::new(),
        };
        let options = options.with_headers(headers)?;
        if let Some(name) = options.unknown_tools(config).first() {
            return Err(StepwellError::configuration(
                &format!("the turn is to offer a tool named `{name}`, and there is none"),
                "give the name of one of the configuration's tools, or the tool itself",
            ));
        }
        Ok(options)
    }
}
