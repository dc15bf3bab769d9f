use super::super::encoding::{Fields, json_request, parameters, put_cache, stored_request, tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, StoredRequest, ToolChoice};
use super::compaction;
use super::input;
use super::parts::Part;
use crate::event::{ContentPart, ToolDefinition, ToolMessage};
use crate::provider::{Endpoint, ModelRules, ReasoningEffort, Resumption};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The path of the answers, after the endpoint's address.
const PATH: &str = "/responses";

/// The header that carries the key, and the prefix of its value.
const KEY: (&str, &str) = ("authorization", "Bearer ");

/// Encodes Responses requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(request, PATH, KEY, "text/event-stream", &Body(request))
    }

    fn encode_stored(
        &self,
        endpoint: &Endpoint,
        request: StoredRequest<'_>,
    ) -> Option<HttpRequest> {
        Some(stored_request(
            endpoint,
            request,
            PATH,
            KEY,
            "starting_after",
        ))
    }

    fn takes(&self, part: &ContentPart) -> bool {
        Part::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, _: &str) -> bool {
        matches!(part, ContentPart::Text(_)) || Part::is_media_of_output(part)
    }
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own fields, which override them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let model = &request.endpoint.model;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", model)?;
        fields.put("stream", &true)?;
        // The conversation is the app's: nothing is kept by the provider, and reasoning goes to and fro.
        let is_in_background = request.endpoint.quirks.resumption == Resumption::Background;
        fields.put("store", &is_in_background)?;
        if is_in_background {
            fields.put("background", &true)?;
        }
        let compaction = request.compact_above.map(compaction::setting);
        fields.put_some("context_management", compaction)?;
        let rules = request.endpoint.model_rules();
        if rules.may_think() {
            fields.put("include", &["reasoning.encrypted_content"])?;
        }
        let instructions = request.instructions.filter(|text| !text.is_empty());
        fields.put_some("instructions", instructions)?;
        fields.put("input", &input::encode(request))?;
        if let Some(tools) = tools(request) {
            let all: Vec<_> = tools.iter().map(Tool::new).collect();
            fields.put_tools(&all)?;
            fields.put_some("tool_choice", tool_choice(&settings.tool_choice, tools))?;
            fields.put_some("parallel_tool_calls", settings.parallel_tool_calls)?;
        }
        let reasoning = settings
            .reasoning
            .and_then(|effort| reasoning(effort, rules));
        fields.put_some("reasoning", reasoning)?;
        fields.put_some("text", format(&settings.response_format))?;
        if rules.takes_temperature(settings.reasoning) {
            fields.put_some("temperature", settings.temperature)?;
        }
        fields.put_some("max_output_tokens", settings.max_output_tokens)?;
        fields.put_user(request.endpoint.quirks.user)?;
        put_cache(&mut fields, request)?;
        fields.end()
    }
}

/// A tool on offer. One whose metadata has `customTool` takes free text: `true`, or the `format` that the text has.
struct Tool<'a> {
    tool: &'a ToolDefinition,
    custom: Option<&'a Value>,
    parameters: Cow<'a, Value>,
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        Self {
            tool,
            custom: custom(tool),
            parameters: parameters(tool),
        }
    }
}

impl Serialize for Tool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metadata = self.tool.metadata.as_ref();
        let mut map = serializer.serialize_map(None)?;
        let kind = if self.custom.is_some() {
            "custom"
        } else {
            "function"
        };
        map.serialize_entry("type", kind)?;
        map.serialize_entry("name", &self.tool.name)?;
        if !self.tool.description.is_empty() {
            map.serialize_entry("description", &self.tool.description)?;
        }
        match self.custom {
            Some(format @ Value::Object(_)) => map.serialize_entry("format", format)?,
            Some(_) => {}
            None => {
                map.serialize_entry("parameters", &self.parameters)?;
                // Without this field the service rewrites the schema, and makes all fields required.
                let strict = metadata.and_then(|metadata| metadata.get("strict"));
                map.serialize_entry("strict", &(strict == Some(&Value::Bool(true))))?;
            }
        }
        map.end()
    }
}

fn custom(tool: &ToolDefinition) -> Option<&Value> {
    let custom = tool.metadata.as_ref()?.get("customTool")?;
    (*custom == Value::Bool(true) || custom.is_object()).then_some(custom)
}

fn tool_choice(choice: &ToolChoice, tools: &[ToolDefinition]) -> Option<Value> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => {
            let is_custom = tools
                .iter()
                .any(|tool| tool.name == *name && custom(tool).is_some());
            let kind = if is_custom { "custom" } else { "function" };
            json!({"type": kind, "name": name})
        }
    })
}

/// Returns the amount of thinking. The request asks for the model's thoughts, unless it should have none.
fn reasoning(effort: ReasoningEffort, rules: ModelRules) -> Option<Value> {
    let word = rules.effort(effort)?;
    Some(match effort {
        ReasoningEffort::Off => json!({"effort": word}),
        _ => json!({"effort": word, "summary": "auto"}),
    })
}

fn format(format: &ResponseFormat) -> Option<Value> {
    let format = match format {
        ResponseFormat::Text => return None,
        ResponseFormat::Json => json!({"type": "json_object"}),
        ResponseFormat::Schema {
            name,
            schema,
            strict,
        } => json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict}),
    };
    Some(json!({ "format": format }))
}
