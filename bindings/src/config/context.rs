use serde::Deserialize;
use stepwell_mirror::mirror;

mirror! {
    /// What happens when the conversation fills the model's context window. Has no effect for models whose window is
    /// not known.
    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::ContextGuard, both, default)]
    pub struct ContextGuard {
        /// The most tokens that the model takes, question and answer together; what Stepwell knows of the model if
        /// absent.
        #[uniffi(default = None)]
        window,
        /// How full the context may be before the model is warned, as a fraction: 0.8 if left out, never if none. The
        /// event `ContextNearlyFull` informs the user, once a turn.
        #[uniffi(default = Some(0.8))]
        warn_at,
        /// What happens to a request that does not fit; the turn fails if absent.
        at_limit?,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::ContextPolicy, both)]
    pub enum ContextPolicy {
        /// The app is asked what to leave out: with the effect `TrimContext`, or by an `Agent` with its `trim_context`.
        Trim,
    }

    /// How the model's text is shown. The history stays as the model wrote it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
    #[mirror(stepwell_core::run::TextOptions, both, default)]
    pub struct TextOptions {
        /// A line break goes before the first text after tool calls, so that the texts of two hops do not run together.
        #[uniffi(default = true)]
        break_after_tools,
        /// A message is shown from its first non-blank character on: a message of blanks only is not shown.
        #[uniffi(default = false)]
        drop_blank,
    }
}
