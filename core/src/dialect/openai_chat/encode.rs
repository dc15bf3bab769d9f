use super::super::{Encode, HttpRequest, ModelRequest, ToolChoice};
use super::messages;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;

/// Encodes Chat Completions requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let endpoint = request.endpoint;
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
        ];
        if let Some(key) = &endpoint.key {
            let value = format!("Bearer {}", key.expose());
            headers.insert(0, ("authorization".to_owned(), value));
        }
        headers.extend(endpoint.headers.iter().cloned());
        HttpRequest {
            method: "POST",
            url: format!(
                "{}/chat/completions",
                endpoint.base_url.trim_end_matches('/')
            ),
            headers,
            // Serialising strings, maps with string keys and finite numbers into memory cannot fail: a float that is
            // not finite becomes null.
            body: serde_json::to_vec(&Body(request)).unwrap_or_default(),
        }
    }
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own, which win over them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let quirks = request.endpoint.quirks;
        let mut fields = Fields {
            map: serializer.serialize_map(None)?,
            request,
        };
        fields.put("model", &request.endpoint.model)?;
        fields.put("stream", &true)?;
        if !quirks.no_stream_options {
            fields.put("stream_options", &json!({"include_usage": true}))?;
        }
        let messages = messages::encode(request.instructions, request.messages, quirks);
        fields.put("messages", &messages)?;
        if !request.tools.is_empty() {
            fields.put("tools", &messages::tools(request.tools))?;
            match &settings.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => fields.put("tool_choice", "none")?,
                ToolChoice::Required => fields.put("tool_choice", "required")?,
                ToolChoice::Named(name) => fields.put(
                    "tool_choice",
                    &json!({"type": "function", "function": {"name": name}}),
                )?,
            }
            if let Some(parallel) = settings.parallel_tool_calls {
                fields.put("parallel_tool_calls", &parallel)?;
            }
        }
        if let Some(temperature) = settings.temperature {
            fields.put("temperature", &temperature)?;
        }
        if let Some(limit) = settings.max_output_tokens {
            let name = if quirks.max_completion_tokens {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            fields.put(name, &limit)?;
        }
        for (name, value) in &settings.extra {
            fields.map.serialize_entry(name, value)?;
        }
        fields.map.end()
    }
}

struct Fields<'a, M> {
    map: M,
    request: &'a ModelRequest<'a>,
}

impl<M: SerializeMap> Fields<'_, M> {
    /// Puts a field, unless the app has its own.
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), M::Error> {
        if self.request.settings.extra.contains_key(name) {
            return Ok(());
        }
        self.map.serialize_entry(name, value)
    }
}
