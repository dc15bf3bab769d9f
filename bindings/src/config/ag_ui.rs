use serde::Deserialize;
use stepwell_core::{dialect, event};
use stepwell_mirror::mirror;

/// How an AG-UI agent differs from the protocol. An absent field has the value that Stepwell knows for the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgUiOptions {
    /// The encodings offered to the agent; JSON if nothing is known. The encoding of its answer decides.
    #[uniffi(default = None)]
    pub encoding: Option<AgUiEncoding>,
    /// Whether the agent predates AG-UI 1.0: no `protocolVersion` is sent then.
    #[uniffi(default = None)]
    pub is_before_1_0: Option<bool>,
    /// Whether the app receives events and fields that AG-UI 1.0 does not know; they are dropped if nothing is known.
    #[uniffi(default = None)]
    pub keeps_unknown: Option<bool>,
    /// How events that break the protocol's order are handled; `Protocol` if nothing is known.
    #[uniffi(default = None)]
    pub verification: Option<Verification>,
    /// How breaches of rules that the reference client does not check are handled; `Warn` if nothing is known.
    #[uniffi(default = None)]
    pub extra_rules: Option<ExtraRules>,
}

mirror! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::dialect::AgUiEncoding, both)]
    pub enum AgUiEncoding;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::event::Verification, both)]
    pub enum Verification;

    /// How breaches of rules that the reference client does not check are handled.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::event::ExtraRules, both)]
    pub enum ExtraRules;
}

/// A piece of context for an AG-UI agent: AG-UI's `Context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextEntry {
    /// What the context is.
    pub description: String,
    /// The context itself.
    pub value: String,
}

impl AgUiOptions {
    /// Overrides what is known of the provider with the values set here.
    pub(super) fn apply(self, known: &mut dialect::AgUiOptions) {
        if let Some(encoding) = self.encoding {
            known.encoding = encoding.into();
        }
        if let Some(is_before_1_0) = self.is_before_1_0 {
            known.is_before_1_0 = is_before_1_0;
        }
        if let Some(keeps_unknown) = self.keeps_unknown {
            known.keeps_unknown = keeps_unknown;
        }
        if let Some(verification) = self.verification {
            known.verification = verification.into();
        }
        if let Some(extra_rules) = self.extra_rules {
            known.extra_rules = extra_rules.into();
        }
    }
}

impl From<ContextEntry> for event::Context {
    fn from(entry: ContextEntry) -> Self {
        Self {
            description: entry.description,
            value: entry.value,
            extra: event::Metadata::new(),
        }
    }
}
