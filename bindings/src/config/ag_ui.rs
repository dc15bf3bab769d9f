use serde::Deserialize;
use stepwell_core::{dialect, event};
use stepwell_mirror::mirror;

/// How an AG-UI agent differs from what is expected of one. What is absent is as Stepwell knows the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgUiOptions {
    /// The encodings that it is offered; JSON if nothing is known. What it answers with decides.
    #[uniffi(default = None)]
    pub encoding: Option<AgUiEncoding>,
    /// Whether it is from before AG-UI 1.0: no `protocolVersion` is sent then.
    #[uniffi(default = None)]
    pub is_before_1_0: Option<bool>,
    /// Whether the app is handed events and fields that AG-UI 1.0 does not know; they are dropped if nothing is known.
    #[uniffi(default = None)]
    pub keeps_unknown: Option<bool>,
    /// What becomes of events that break the protocol's order; `Protocol` if nothing is known.
    #[uniffi(default = None)]
    pub verification: Option<Verification>,
    /// What becomes of breaches of rules that the reference client does not check; `Warn` if nothing is known.
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

    /// What becomes of breaches of rules that the reference client does not check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_agui::event::ExtraRules, both)]
    pub enum ExtraRules;
}

/// Something that an AG-UI agent is to know: AG-UI's `Context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextEntry {
    /// What it is.
    pub description: String,
    /// What it says.
    pub value: String,
}

impl AgUiOptions {
    /// Puts what is said here in the place of what is known of the provider.
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
