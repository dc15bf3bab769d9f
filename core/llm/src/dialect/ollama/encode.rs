use super::super::encoding::{Fields, json_request};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat};
use super::messages::{self, messages, tools};
use crate::event::{ContentPart, ToolMessage};
use crate::provider::ReasoningEffort;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Encodes Ollama's requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(
            request,
            "/api/chat",
            ("authorization", "Bearer "),
            "application/x-ndjson",
            &Body(request),
        )
    }

    fn takes(&self, part: &ContentPart) -> bool {
        messages::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, _: &str) -> bool {
        messages::takes(part)
    }
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own fields, which override them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &request.endpoint.model)?;
        fields.put("messages", &messages(request))?;
        fields.put_tools(&tools(request.tools, settings))?;
        fields.put("stream", &true)?;
        let effort = settings.reasoning;
        fields.put_some("think", effort.map(|effort| think(request, effort)))?;
        match &settings.response_format {
            ResponseFormat::Text => {}
            ResponseFormat::Json => fields.put("format", "json")?,
            ResponseFormat::Schema { schema, .. } => fields.put("format", schema)?,
        }
        let mut options = Map::new();
        if let Some(temperature) = settings.temperature {
            options.insert("temperature".to_owned(), json!(temperature));
        }
        if let Some(limit) = settings.max_output_tokens {
            options.insert("num_predict".to_owned(), json!(limit));
        }
        fields.put_settings("options", options)?;
        fields.end()
    }
}

/// Returns whether the model thinks. Only gpt-oss knows how much, and it cannot do without; the others refuse a word.
///
/// Source: <https://docs.ollama.com/capabilities/thinking>.
fn think(request: &ModelRequest<'_>, effort: ReasoningEffort) -> Value {
    if !request.endpoint.model.contains("gpt-oss") {
        return json!(effort != ReasoningEffort::Off);
    }
    json!(match effort {
        ReasoningEffort::Off | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    })
}
