use super::super::anthropic::{self, Mark, Thinking};
use super::super::encoding::{Fields, SEGMENT, json_request, own_tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, ToolChoice};
use super::block::Block;
use super::content;
use super::family::Family;
use super::marked::{List, Marked};
use super::prompt::Prompt;
use super::tools;
use crate::event::{ContentPart, ToolMessage};
use crate::provider::{ReasoningEffort, context_window};
use percent_encoding::utf8_percent_encode;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The media type of the stream.
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// Encodes requests of `ConverseStream`.
///
/// Converse cannot express all settings:
/// - no call at all: the tools are left out, except for those that the history calls, which are offered without their
///   schemas, because the request is refused without them;
/// - the number of parallel calls;
/// - the effort of models other than Claude, Nova 2 and OpenAI's. It is not sent to them;
/// - any JSON object: the model is asked for it in the instructions.
///
/// Fields of a model's own belong into the app's own `additionalModelRequestFields`, stop sequences and `topP` into its
/// `inferenceConfig`. Both add to Stepwell's.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let model = utf8_percent_encode(&request.endpoint.model, SEGMENT);
        json_request(
            request,
            &format!("/model/{model}/converse-stream"),
            ("authorization", "Bearer "),
            EVENT_STREAM,
            &Body::new(request),
        )
    }

    fn takes(&self, part: &ContentPart) -> bool {
        content::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, result: &ToolMessage, _: &str) -> bool {
        matches!(part, ContentPart::Text(_)) || (result.error.is_none() && content::takes(part))
    }
}

struct Body<'a> {
    request: &'a ModelRequest<'a>,
    family: Family,
    prompt: Prompt<'a>,
    tools: Vec<Marked<Value>>,
    thinking: Option<Thinking>,
}

impl<'a> Body<'a> {
    fn new(request: &'a ModelRequest<'a>) -> Self {
        let settings = request.settings;
        let model = request.endpoint.model.as_str();
        let family = Family::of(model);
        let mut prompt = Prompt::new(request, family);
        if settings.response_format == ResponseFormat::Json {
            // The API has no setting for this.
            let wish = "Answer with one JSON object and nothing else.";
            prompt.system.extend(Block::text(wish).map(Marked::from));
        }
        let own = own_tools(settings).iter().cloned();
        let mut tools: Vec<_> = match settings.tool_choice {
            ToolChoice::None => Vec::new(),
            _ => request.tools.iter().map(tools::tool).chain(own).collect(),
        };
        if tools.is_empty() {
            tools = prompt.called().into_iter().map(tools::former).collect();
        }
        let thinking = (family == Family::Claude).then(|| {
            let may_think = !prompt.continues_without_reasoning();
            let window = context_window(&request.endpoint.provider, model);
            let most = window
                .and_then(|window| window.output)
                .map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
            let room = most.saturating_sub(settings.max_output_tokens.unwrap_or_default());
            Thinking::new(model, settings, may_think, room)
        });
        if thinking.as_ref().is_some_and(|thinking| thinking.is_off) {
            prompt.forget_reasoning();
        }
        let mut body = Self {
            request,
            family,
            prompt,
            tools: tools.into_iter().map(Marked::from).collect(),
            thinking,
        };
        body.mark();
        body
    }

    /// Puts the cache points where they belong: the app's own, and with `cache_prompt` at the end of what there is so
    /// far, of the instructions, and of the tools.
    fn mark(&mut self) {
        let takes_points = self.family.takes_cache_points();
        let mut places = Vec::new();
        if self.family.takes_cache_points_after_tools() {
            places.extend(self.tools.iter_mut().map(|tool| &mut tool.mark));
        }
        let tools = places.len();
        places.extend(self.prompt.system.iter_mut().map(|block| &mut block.mark));
        let system = places.len();
        let turns = self.prompt.turns.iter_mut();
        let blocks = turns.flat_map(|turn| &mut turn.content);
        let blocks = blocks.filter(|block| block.item.takes_mark());
        places.extend(blocks.map(|block| &mut block.mark));
        if !takes_points {
            for place in places {
                *place = None;
            }
            return;
        }
        for mark in places.iter_mut().filter_map(|place| place.as_mut()) {
            *mark = self.family.mark(*mark);
        }
        let mut wanted = Vec::new();
        let lifetime = self.request.settings.cache_prompt;
        if lifetime.is_some() {
            let ends = [(system, places.len()), (tools, system), (0, tools)];
            wanted.extend(
                ends.into_iter()
                    .filter(|(start, end)| start < end)
                    .map(|(_, end)| end - 1),
            );
        }
        let mark = lifetime.map_or(Mark::FiveMinutes, Mark::from);
        anthropic::settle_marks(&mut places, &wanted, self.family.mark(mark));
    }

    fn inference_config(&self) -> Map<String, Value> {
        let settings = self.request.settings;
        let mut config = Map::new();
        let budget = self.thinking.as_ref().map_or(0, |thinking| thinking.budget);
        if let Some(most) = settings.max_output_tokens {
            // The requested limit is for the answer alone.
            config.insert("maxTokens".to_owned(), most.saturating_add(budget).into());
        }
        let takes_temperature = !self
            .thinking
            .as_ref()
            .is_some_and(|thinking| thinking.no_temperature);
        if let Some(temperature) = settings.temperature.filter(|_| takes_temperature) {
            config.insert("temperature".to_owned(), temperature.into());
        }
        config
    }

    fn tool_config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        if !self.tools.is_empty() {
            // Values cannot fail.
            let tools = serde_json::to_value(List(&self.tools)).unwrap_or_default();
            config.insert("tools".to_owned(), tools);
            if !self.request.tools.is_empty()
                && let Some(choice) = tools::choice(&self.request.settings.tool_choice)
            {
                config.insert("toolChoice".to_owned(), choice);
            }
        }
        config
    }

    /// Returns the model's own fields for the amount of reasoning.
    ///
    /// Sources: <https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html>,
    /// <https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html>,
    /// <https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html>.
    fn model_fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(thinking) = &self.thinking {
            if let Some(thinking) = &thinking.thinking {
                fields.insert("thinking".to_owned(), thinking.clone());
            }
            if let Some(effort) = thinking.effort {
                fields.insert("output_config".to_owned(), json!({"effort": effort}));
            }
        }
        let Some(effort) = self.request.settings.reasoning else {
            return fields;
        };
        let word = match effort {
            ReasoningEffort::Off | ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
        };
        match self.family {
            Family::Nova { reasons: true } => {
                let config = match effort {
                    ReasoningEffort::Off => json!({"type": "disabled"}),
                    _ => json!({"type": "enabled", "maxReasoningEffort": word}),
                };
                fields.insert("reasoningConfig".to_owned(), config);
            }
            Family::GptOss => {
                fields.insert("reasoning_effort".to_owned(), word.into());
            }
            _ => {}
        }
        fields
    }

    /// Returns the form of the answer. Its schema is the text of a JSON Schema.
    fn output_config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        if let ResponseFormat::Schema { name, schema, .. } = &self.request.settings.response_format
        {
            let schema = json!({"schema": schema.to_string(), "name": name});
            let format = json!({"type": "json_schema", "structure": {"jsonSchema": schema}});
            config.insert("textFormat".to_owned(), format);
        }
        config
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settings = self.request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("messages", &self.prompt.turns)?;
        if !self.prompt.system.is_empty() {
            fields.put("system", &List(&self.prompt.system))?;
        }
        fields.put_settings("inferenceConfig", self.inference_config())?;
        fields.leave_out("tools");
        fields.put_settings("toolConfig", self.tool_config())?;
        fields.put_settings("additionalModelRequestFields", self.model_fields())?;
        fields.put_settings("outputConfig", self.output_config())?;
        fields.end()
    }
}
