use super::super::encoding::{Fields, json_request, stored_request, tools};
use super::super::{
    Encode, HttpRequest, ModelRequest, ResponseFormat, StoredRequest, ToolChoice, gemini,
};
use super::content::Content;
use super::input;
use crate::event::{ContentPart, ToolDefinition, ToolMessage};
use crate::provider::{Endpoint, ReasoningEffort, Resumption};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The path of the interactions, after the endpoint's address.
const PATH: &str = "/interactions";

/// The header that carries the key, and the prefix of its value.
const KEY: (&str, &str) = ("x-goog-api-key", "");

/// The header with the revision of the API that this dialect speaks.
const REVISION: (&str, &str) = ("api-revision", "2026-05-20");

/// Encodes requests of the Interactions API.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let body = Body(request);
        with_revision(json_request(request, PATH, KEY, "text/event-stream", &body))
    }

    fn encode_stored(
        &self,
        endpoint: &Endpoint,
        request: StoredRequest<'_>,
    ) -> Option<HttpRequest> {
        Some(with_revision(stored_request(
            endpoint,
            request,
            PATH,
            KEY,
            "last_event_id",
        )))
    }

    fn takes(&self, _: &ContentPart) -> bool {
        // All kinds, as bytes or by address.
        true
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, model: &str) -> bool {
        matches!(part, ContentPart::Text(_))
            || (gemini::is_third_generation(model) && Content::of_result(part).is_some())
    }
}

/// Adds the revision of the API, unless the app has named one.
fn with_revision(mut request: HttpRequest) -> HttpRequest {
    let (name, revision) = REVISION;
    let mut named = request.headers.iter().map(|(name, _)| name);
    if !named.any(|named| named.eq_ignore_ascii_case(name)) {
        let header = (name.to_owned(), revision.to_owned());
        request.headers.push(header);
    }
    request
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own fields, which override them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &request.endpoint.model)?;
        fields.put("stream", &true)?;
        // The conversation is the app's: nothing is kept by the provider, and thoughts go to and fro.
        let is_in_background = request.endpoint.quirks.resumption == Resumption::Background;
        fields.put("store", &is_in_background)?;
        if is_in_background {
            fields.put("background", &true)?;
        }
        fields.put_some("system_instruction", input::system(request))?;
        fields.put("input", &input::encode(request))?;
        if let Some(tools) = tools(request) {
            let all: Vec<_> = tools.iter().map(Tool).collect();
            fields.put_tools(&all)?;
        }
        fields.put_some("response_format", format(&settings.response_format))?;
        fields.put_settings("generation_config", generation(request))?;
        fields.end()
    }
}

/// A tool on offer.
struct Tool<'a>(&'a ToolDefinition);

impl Serialize for Tool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(tool) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("name", &tool.name)?;
        if !tool.description.is_empty() {
            map.serialize_entry("description", &tool.description)?;
        }
        if let Some(parameters) = tool.parameters.as_ref().filter(|schema| !schema.is_null()) {
            map.serialize_entry("parameters", parameters)?;
        }
        map.end()
    }
}

fn format(format: &ResponseFormat) -> Option<Value> {
    let mut text = json!({"type": "text", "mime_type": "application/json"});
    match format {
        ResponseFormat::Text => return None,
        ResponseFormat::Json => {}
        ResponseFormat::Schema { schema, .. } => text["schema"] = schema.clone(),
    }
    Some(text)
}

fn generation(request: &ModelRequest<'_>) -> Map<String, Value> {
    let settings = request.settings;
    let mut config = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        config.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("temperature", settings.temperature.map(Value::from));
    put(
        "max_output_tokens",
        settings.max_output_tokens.map(Value::from),
    );
    if let Some(effort) = settings.reasoning {
        let level = gemini::thinking_level(&request.endpoint.model, effort);
        let summaries = match effort {
            ReasoningEffort::Off => "none",
            _ => "auto",
        };
        put("thinking_level", Some(level.into()));
        put("thinking_summaries", Some(summaries.into()));
    }
    if tools(request).is_some() {
        put("tool_choice", tool_choice(&settings.tool_choice));
    }
    config
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("any"),
        ToolChoice::Named(name) => json!({"allowed_tools": {"mode": "any", "tools": [name]}}),
    })
}
