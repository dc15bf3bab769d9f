use super::super::encoding::{Fields, function_tool, json_request, put_cache, tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, ToolChoice};
use super::{messages, parts};
use crate::event::{ContentPart, ToolMessage};
use crate::provider::EffortField;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Encodes Chat Completions requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(
            request,
            "/chat/completions",
            ("authorization", "Bearer "),
            "text/event-stream",
            &Body(request),
        )
    }

    fn takes(&self, part: &ContentPart) -> bool {
        parts::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, _: &ToolMessage, _: &str) -> bool {
        matches!(part, ContentPart::Text(_))
    }
}

/// The request's body: Stepwell's fields in a fixed order, then the app's own fields, which override them.
struct Body<'a>(&'a ModelRequest<'a>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let settings = request.settings;
        let quirks = request.endpoint.quirks;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &request.endpoint.model)?;
        fields.put("stream", &true)?;
        if !quirks.no_stream_options {
            fields.put("stream_options", &json!({"include_usage": true}))?;
        }
        let messages = messages::encode(request);
        fields.put("messages", &messages)?;
        if let Some(tools) = tools(request) {
            let tools: Vec<_> = tools.iter().map(function_tool).collect();
            fields.put_tools(&tools)?;
            match &settings.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => fields.put("tool_choice", "none")?,
                ToolChoice::Required => fields.put("tool_choice", "required")?,
                ToolChoice::Named(name) => fields.put(
                    "tool_choice",
                    &json!({"type": "function", "function": {"name": name}}),
                )?,
            }
            fields.put_some("parallel_tool_calls", settings.parallel_tool_calls)?;
        }
        fields.put_some(
            "response_format",
            response_format(&settings.response_format),
        )?;
        let rules = request.endpoint.model_rules();
        if let Some(effort) = settings.reasoning.and_then(|effort| rules.effort(effort)) {
            match quirks.effort {
                EffortField::ReasoningEffort => fields.put("reasoning_effort", effort)?,
                EffortField::Reasoning => fields.put("reasoning", &json!({"effort": effort}))?,
                EffortField::Never => {}
            }
        }
        if rules.takes_temperature(settings.reasoning) {
            fields.put_some("temperature", settings.temperature)?;
        }
        if let Some(limit) = settings.max_output_tokens {
            let name = if quirks.max_completion_tokens {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            fields.put(name, &limit)?;
        }
        fields.put_user(quirks.user)?;
        put_cache(&mut fields, request)?;
        fields.end()
    }
}

/// The form of the answer, as Chat Completions has it.
///
/// Source: <https://platform.openai.com/docs/guides/structured-outputs>.
pub(in super::super) fn response_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::Json => Some(json!({"type": "json_object"})),
        ResponseFormat::Schema {
            name,
            schema,
            strict,
        } => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": name, "schema": schema, "strict": strict},
        })),
    }
}
