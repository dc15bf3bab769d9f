//! Compaction by the provider itself: the answer then begins with an item that stands for the conversation before it, and
//! which only that provider can read.
//!
//! Sources: <https://platform.claude.com/docs/en/build-with-claude/compaction>,
//! <https://developers.openai.com/api/docs/guides/compaction>.

use super::{anthropic, openai_responses, sealed};
use crate::event::{AssistantMessage, Message};
use crate::provider::{Dialect, Endpoint};

/// The word by which both providers name the item.
pub(super) const COMPACTION: &str = "compaction";

impl Dialect {
    /// Returns the fewest tokens of a request at which a provider compacts it; `None` if providers of this dialect never
    /// do.
    #[must_use]
    pub fn compacts_from(self) -> Option<u64> {
        match self {
            Self::Anthropic => Some(50_000),
            Self::OpenAiResponses => Some(1_000),
            _ => None,
        }
    }
}

impl Endpoint {
    /// Returns whether the provider has compacted the conversation in this message: the provider needs nothing of what
    /// came before.
    #[must_use]
    pub fn reads_compaction(&self, message: &Message) -> bool {
        let Some(value) = may_hold_compaction(message) else {
            return false;
        };
        let provider = &self.provider;
        match self.dialect {
            Dialect::Anthropic => anthropic::holds_compaction(value, provider),
            Dialect::OpenAiResponses => openai_responses::holds_compaction(value, provider),
            _ => false,
        }
    }
}

/// Returns the message without the provider's compaction, if it has one: requests then carry what came before again.
#[must_use]
pub fn without_compaction(message: &Message) -> Option<AssistantMessage> {
    let value = may_hold_compaction(message)?;
    let rest = match sealed::dialect(value)? {
        Dialect::Anthropic => anthropic::without_compaction(value)?,
        Dialect::OpenAiResponses => openai_responses::without_compaction(value)?,
        _ => return None,
    };
    let Message::Assistant(message) = message else {
        return None;
    };
    let mut message = message.clone();
    message.encrypted_value = rest;
    Some(message)
}

/// Returns the sealed value of a message, if it may hold a compaction: a quick look spares most of them being parsed.
fn may_hold_compaction(message: &Message) -> Option<&str> {
    let Message::Assistant(message) = message else {
        return None;
    };
    let value = message.encrypted_value.as_deref();
    value.filter(|value| value.contains(COMPACTION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Quirks;
    use serde_json::json;

    fn endpoint(dialect: Dialect) -> Endpoint {
        Endpoint {
            provider: "p".to_owned(),
            dialect,
            base_url: "https://p.example".to_owned(),
            model: "m".to_owned(),
            key: None,
            headers: Vec::new(),
            key_header: None,
            quirks: Quirks::default(),
        }
    }

    fn sealed_for(provider: &str, dialect: Dialect, value: &serde_json::Value) -> Message {
        Message::Assistant(AssistantMessage {
            content: Some("Yes.".into()),
            encrypted_value: Some(sealed::seal(provider, dialect, value)),
            ..AssistantMessage::default()
        })
    }

    fn block(content: &serde_json::Value) -> serde_json::Value {
        json!([{"block": {"type": "compaction", "content": content}}])
    }

    #[test]
    fn only_its_provider_reads_a_compaction() {
        let anthropic = endpoint(Dialect::Anthropic);
        let summary = block(&json!("They spoke."));
        let own = sealed_for("p", Dialect::Anthropic, &summary);
        assert!(anthropic.reads_compaction(&own));
        assert!(!endpoint(Dialect::OpenAiResponses).reads_compaction(&own));
        let foreign = sealed_for("other", Dialect::Anthropic, &summary);
        assert!(!anthropic.reads_compaction(&foreign));
        let failed = sealed_for("p", Dialect::Anthropic, &block(&json!(null)));
        assert!(
            !anthropic.reads_compaction(&failed),
            "a compaction that failed"
        );
        let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbA"});
        let own = sealed_for("p", Dialect::OpenAiResponses, &item);
        assert!(endpoint(Dialect::OpenAiResponses).reads_compaction(&own));
        let quoted = json!({"type": "mcp_call", "name": "compaction"});
        let other = sealed_for("p", Dialect::OpenAiResponses, &quoted);
        assert!(!endpoint(Dialect::OpenAiResponses).reads_compaction(&other));
        assert!(!anthropic.reads_compaction(&Message::user("1", "compaction")));
    }

    #[test]
    fn a_message_keeps_all_but_its_compaction() {
        let kept = json!({"block": {"type": "container_upload", "file_id": "f"}});
        let compaction = json!({"block": {"type": "compaction", "content": "They spoke."}});
        let both = sealed_for("p", Dialect::Anthropic, &json!([compaction, kept]));
        let without = without_compaction(&both).expect("it had one");
        let rest = sealed::seal("p", Dialect::Anthropic, &json!([kept]));
        assert_eq!(without.encrypted_value, Some(rest));
        assert_eq!(without.content.as_deref(), Some("Yes."));
        let alone = sealed_for("p", Dialect::Anthropic, &json!([compaction]));
        let without = without_compaction(&alone).expect("it had one");
        assert_eq!(without.encrypted_value, None);
        let item = json!({"type": "compaction", "encrypted_content": "c2VhbA"});
        let without = without_compaction(&sealed_for("p", Dialect::OpenAiResponses, &item));
        assert_eq!(without.expect("it had one").encrypted_value, None);
        let other = sealed_for("p", Dialect::Anthropic, &json!([kept, "compaction"]));
        assert_eq!(without_compaction(&other), None);
    }
}
