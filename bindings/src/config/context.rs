use crate::same::same;
use serde::Deserialize;
use stepwell_core::run;

/// What happens when the conversation fills the model's context window. It rests for models whose window is not known.
#[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ContextGuard {
    /// The most tokens that the model takes, question and answer together; what Stepwell knows of it if absent.
    #[uniffi(default = None)]
    pub window: Option<u64>,
    /// How full the context may be before the model is warned, as a part of it: 0.8 if left out, never if none. The
    /// user is told by the event `ContextNearlyFull`, once a turn.
    #[uniffi(default = Some(0.8))]
    pub warn_at: Option<f64>,
    /// What happens to a request that does not fit; the turn fails if absent.
    #[uniffi(default = None)]
    pub at_limit: Option<ContextPolicy>,
}

/// What happens to a request that does not fit the model's context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum ContextPolicy {
    /// It goes out all the same: the provider is to decide.
    Send,
    /// The turn ends with the failure `ContextTooLong` before it goes out.
    Fail,
    /// The app is asked what to leave out: with the effect `TrimContext`, or by an `Agent` with its `trim_context`.
    Trim,
}

/// How the model's text is shown. The history stays as the model wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TextOptions {
    /// A line break goes before the first text after tool calls, so that the texts of two hops do not run together.
    #[uniffi(default = true)]
    pub break_after_tools: bool,
    /// A message is shown from its first character on that is no blank: one of nothing but blanks is not shown.
    #[uniffi(default = false)]
    pub drop_blank: bool,
}

impl Default for ContextGuard {
    fn default() -> Self {
        let core = run::ContextGuard::default();
        Self {
            window: core.window,
            warn_at: core.warn_at,
            at_limit: None,
        }
    }
}

impl Default for TextOptions {
    fn default() -> Self {
        let core = run::TextOptions::default();
        Self {
            break_after_tools: core.break_after_tools,
            drop_blank: core.drop_blank,
        }
    }
}

same!(ContextPolicy = run::ContextPolicy { Send, Fail, Trim });

impl From<ContextGuard> for run::ContextGuard {
    fn from(guard: ContextGuard) -> Self {
        Self {
            window: guard.window,
            warn_at: guard.warn_at,
            at_limit: guard.at_limit.map_or(run::ContextPolicy::Fail, Into::into),
        }
    }
}

impl From<TextOptions> for run::TextOptions {
    fn from(options: TextOptions) -> Self {
        Self {
            break_after_tools: options.break_after_tools,
            drop_blank: options.drop_blank,
        }
    }
}
