use clap::{Args, ValueEnum};
use serde::Serialize;
use std::num::NonZeroU64;
use stepwell_core::run::CompactionPolicy;

/// How long conversations are kept from filling the model's context.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Long conversations")]
pub(crate) struct CompactionSettings {
    /// A way to compact a conversation that begins to fill the model's context; may be repeated: the ways are used in their
    /// order [default: off].
    #[arg(long, env = "STEPWELL_COMPACTION", value_name = "WAY", value_enum)]
    pub(crate) compaction: Vec<CompactionName>,
    /// The part of the context that a request must exceed for the conversation to be compacted before it.
    #[arg(long, env = "STEPWELL_COMPACTION_AT", value_name = "PART", value_parser = part, default_value_t = CompactionPolicy::default().at)]
    pub(crate) compaction_at: f64,
    /// The number of newest tool results that `drop-results` keeps.
    #[arg(
        long,
        env = "STEPWELL_KEEP_RESULTS",
        value_name = "N",
        default_value_t = 5
    )]
    pub(crate) keep_results: u32,
    /// The model that writes the summaries, as PROVIDER/MODEL [default: the one that answers].
    #[arg(long, env = "STEPWELL_SUMMARY_MODEL", value_name = "PROVIDER/MODEL")]
    pub(crate) summary_model: Option<String>,
    /// The size of the models' context in tokens, question and answer together [default: what Stepwell knows of the
    /// model].
    #[arg(long, env = "STEPWELL_CONTEXT_WINDOW", value_name = "TOKENS")]
    pub(crate) context_window: Option<NonZeroU64>,
}

/// A way to compact a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CompactionName {
    /// Nothing is compacted.
    Off,
    /// A short marker replaces the results of old tool calls.
    DropResults,
    /// A model writes a summary of the older messages, which are then left out.
    Summary,
    /// The provider compacts the conversation itself.
    Provider,
}

/// Parses a part of the context.
fn part(text: &str) -> Result<f64, &'static str> {
    let part = text.parse().ok();
    part.filter(|part| *part > 0.0 && *part <= 1.0)
        .ok_or("it is no part of the context (give a number above 0, and 1 at most)")
}
