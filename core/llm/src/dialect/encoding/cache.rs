//! The prompt cache of OpenAI, and of those who have its fields.

use super::super::{CacheLifetime, ModelRequest};
use super::body::Fields;
use crate::ThreadId;
use crate::dialect::legal::fnv;
use crate::provider::CacheField;
use serde::ser::SerializeMap;
use serde_json::json;

/// Puts the fields for the prompt cache, if the app wants the prompt to be cached and the provider has them.
///
/// Source: <https://developers.openai.com/api/docs/guides/prompt-caching>.
pub(in super::super) fn put_cache<M: SerializeMap>(
    fields: &mut Fields<'_, M>,
    request: &ModelRequest<'_>,
) -> Result<(), M::Error> {
    let endpoint = request.endpoint;
    let Some(lifetime) = request
        .settings
        .cache_prompt
        .filter(|_| endpoint.quirks.cache_key)
    else {
        return Ok(());
    };
    fields.put_some("prompt_cache_key", cache_key(&request.ids.thread_id))?;
    match (lifetime, endpoint.model_rules().cache) {
        // The default time is some minutes, or 30.
        (CacheLifetime::FiveMinutes, _) | (_, CacheField::Fixed) => Ok(()),
        (CacheLifetime::OneHour, CacheField::Retention) => {
            fields.put("prompt_cache_retention", "24h")
        }
        (CacheLifetime::OneHour, CacheField::Options) => {
            fields.put("prompt_cache_options", &json!({"ttl": "12h"}))
        }
    }
}

/// Returns the key by which the provider finds the server that has seen the conversation before. It is a digest, since
/// a thread's id may name a user.
fn cache_key(thread: &ThreadId) -> Option<String> {
    let id = thread.as_bytes();
    (!id.is_empty()).then(|| format!("{:016x}{:016x}", fnv(0, id), fnv(1, id)))
}
