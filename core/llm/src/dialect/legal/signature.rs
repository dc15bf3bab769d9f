use super::rules::Rules;
use crate::dialect::sealed;
use crate::event::AssistantMessage;
use serde::de::IgnoredAny;

/// Returns whether the message has a signature that this provider can read.
pub(super) fn is_signed(said: &AssistantMessage, rules: &Rules<'_>) -> bool {
    let sealed = said.encrypted_value.as_deref();
    sealed::open::<IgnoredAny>(sealed, rules.provider, rules.dialect).is_some()
}
