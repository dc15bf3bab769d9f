use super::super::encoding::{Fields, json_request, own_tools, tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, ToolChoice};
use super::contents::{contents, system};
use super::model;
use super::parts::Part;
use crate::event::{ContentPart, ToolDefinition, ToolMessage};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Encodes Gemini's requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let path = model::path(&request.endpoint.model);
        json_request(
            request,
            &format!("/{path}:streamGenerateContent?alt=sse"),
            ("x-goog-api-key", ""),
            "text/event-stream",
            &Body(request),
        )
    }

    fn takes(&self, _: &ContentPart) -> bool {
        // All kinds, as bytes or by address.
        true
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, model: &str) -> bool {
        matches!(part, ContentPart::Text(_))
            || (model::is_third_generation(model) && Part::of_response(part).is_some())
    }
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own fields, which override them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        // The app's cache, by name, has the instructions and the tools already; with both the request is refused.
        let is_cached = settings.extra.contains_key("cachedContent");
        let system = system(request);
        if !system.is_empty() && !is_cached {
            fields.put("systemInstruction", &json!({ "parts": system }))?;
        }
        fields.put("contents", &contents(request))?;
        if let Some(tools) = tools(request).filter(|_| !is_cached) {
            let declarations: Vec<_> = tools.iter().map(declaration).collect();
            fields.put_tools(&[json!({ "functionDeclarations": declarations })])?;
            fields.put_settings("toolConfig", tool_config(request))?;
        }
        fields.put_settings("generationConfig", generation(request))?;
        fields.end()
    }
}

/// Returns the configuration for requests with tools of the app.
fn tool_config(request: &ModelRequest<'_>) -> Map<String, Value> {
    let settings = request.settings;
    let calling = match &settings.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
    };
    let mut config = Map::new();
    config.extend(calling.map(|calling| ("functionCallingConfig".to_owned(), calling)));
    if own_tools(settings).iter().any(model::is_built_in) && !model::is_vertex(request.endpoint) {
        // Without this, a request with tools of both kinds is refused.
        config.insert("includeServerSideToolInvocations".to_owned(), true.into());
    }
    config
}

/// Returns a tool. Its arguments are described by `parametersJsonSchema`, not by `parameters`. The former accepts a
/// JSON Schema with references, unions and bounds; the older field refuses all keywords outside of OpenAPI's subset.
fn declaration(tool: &ToolDefinition) -> Value {
    let mut declaration = json!({"name": tool.name});
    if !tool.description.is_empty() {
        declaration["description"] = json!(tool.description);
    }
    if let Some(parameters) = tool.parameters.as_ref().filter(|schema| !schema.is_null()) {
        declaration["parametersJsonSchema"] = parameters.clone();
    }
    declaration
}

fn generation(request: &ModelRequest<'_>) -> Map<String, Value> {
    let settings = request.settings;
    let mut config = Map::new();
    if let Some(temperature) = settings.temperature {
        config.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(limit) = settings.max_output_tokens {
        config.insert("maxOutputTokens".to_owned(), json!(limit));
    }
    if settings.response_format != ResponseFormat::Text {
        config.insert("responseMimeType".to_owned(), json!("application/json"));
    }
    if let ResponseFormat::Schema { schema, .. } = &settings.response_format {
        config.insert("responseJsonSchema".to_owned(), schema.clone());
    }
    if let Some(effort) = settings.reasoning {
        let thinking = model::thinking(&request.endpoint.model, effort);
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    config
}
