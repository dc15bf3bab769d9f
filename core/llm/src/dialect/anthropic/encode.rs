use super::super::encoding::{Fields, json_request, own_tools};
use super::super::{Encode, HttpRequest, ModelRequest, ResponseFormat, ToolChoice};
use super::block::{self, Block};
use super::cache;
use super::compaction;
use super::content;
use super::messages::Prompt;
use super::thinking::Thinking;
use super::tools::{self, Tool};
use crate::event::{ContentPart, ToolMessage};
use crate::provider;
use crate::provider::Endpoint;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The version of the API. Source: <https://platform.claude.com/docs/en/api/versioning>.
const VERSION: &str = "2023-06-01";

/// The beta name that a request must carry if it uses the provider's file store.
const FILES: &str = "files-api-2025-04-14";

/// The maximum number of tokens of an answer if the app sets none: the API requires a limit.
const DEFAULT_MAX_TOKENS: u32 = 8192;

/// The field with the settings of compaction.
const CONTEXT_MANAGEMENT: &str = "context_management";

/// Encodes Messages requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let body = Body::new(request);
        let mut encoded = json_request(
            request,
            "/messages",
            ("x-api-key", ""),
            "text/event-stream",
            &body,
        );
        let headers = &mut encoded.headers;
        if !headers
            .iter()
            .any(|(name, _)| is(name, "anthropic-version"))
        {
            headers.push(("anthropic-version".to_owned(), VERSION.to_owned()));
        }
        if body.has_files() {
            add_beta(headers, FILES);
        }
        if body.compact_above().is_some() {
            add_beta(headers, compaction::BETA);
        }
        encoded
    }

    fn takes(&self, part: &ContentPart) -> bool {
        content::takes(part)
    }

    fn takes_in_result(&self, part: &ContentPart, result: &ToolMessage, _: &str) -> bool {
        // With an error only text is accepted.
        matches!(part, ContentPart::Text(_)) || (result.error.is_none() && content::takes(part))
    }
}

/// Adds the name of a beta feature to those that the request names already.
fn add_beta(headers: &mut Vec<(String, String)>, beta: &str) {
    match headers
        .iter_mut()
        .find(|(name, _)| is(name, "anthropic-beta"))
    {
        Some((_, features)) if features.contains(beta) => {}
        Some((_, features)) => *features = format!("{features},{beta}"),
        None => headers.push(("anthropic-beta".to_owned(), beta.to_owned())),
    }
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

struct Body<'a> {
    request: &'a ModelRequest<'a>,
    prompt: Prompt<'a>,
    tools: Vec<Tool<'a>>,
    /// The most tokens of the answer, thinking and all.
    max_tokens: u32,
    thinking: Thinking,
}

/// The longest answer of the model, thinking and all; no limit where its vendor names none.
fn longest_answer(endpoint: &Endpoint) -> u32 {
    let window = provider::context_window(&endpoint.provider, &endpoint.model);
    let output = window.and_then(|window| window.output);
    output.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX))
}

impl<'a> Body<'a> {
    fn new(request: &'a ModelRequest<'a>) -> Self {
        let settings = request.settings;
        let mut prompt = Prompt::new(request);
        if settings.response_format == ResponseFormat::Json {
            // The API has no setting for this.
            let wish = "Answer with one JSON object and nothing else.";
            prompt.system.extend(Block::text(wish, None));
        }
        let mut tools: Vec<_> = request.tools.iter().map(Tool::new).collect();
        if tools.is_empty() && own_tools(settings).is_empty() {
            tools = prompt.called().into_iter().map(Tool::former).collect();
        }
        let may_think = !prompt.goes_on_without_thinking();
        let endpoint = request.endpoint;
        let most = longest_answer(endpoint);
        let asked = settings
            .max_output_tokens
            .unwrap_or(DEFAULT_MAX_TOKENS.min(most));
        let room = most.saturating_sub(asked);
        let thinking = Thinking::new(&endpoint.model, settings, may_think, room);
        if thinking.is_off {
            prompt.forget_thinking();
        }
        let mut body = Self {
            request,
            prompt,
            tools,
            // The requested limit is for the answer alone. If the sum exceeds the model's limit, the provider reports
            // that.
            max_tokens: asked.saturating_add(thinking.budget).min(most.max(asked)),
            thinking,
        };
        body.mark();
        body
    }

    /// Puts the marks for the cache where they belong: the app's own, and with `cache_prompt` at the end of what there
    /// is so far, of the instructions, and of the tools.
    fn mark(&mut self) {
        let mut places: Vec<_> = self
            .tools
            .iter_mut()
            .map(|tool| &mut tool.cache_control)
            .collect();
        let tools = places.len();
        places.extend(self.prompt.system.iter_mut().filter_map(Block::mark));
        let system = places.len();
        let turns = self.prompt.turns.iter_mut();
        places.extend(
            turns
                .flat_map(|turn| &mut turn.content)
                .flat_map(Block::marks),
        );
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
        let mark = lifetime.map_or(cache::Mark::FiveMinutes, cache::Mark::from);
        cache::settle(&mut places, &wanted, mark);
    }

    /// Returns the number of tokens above which the provider compacts the conversation, unless the app has settings of its
    /// own for that.
    fn compact_above(&self) -> Option<u64> {
        let settings = self.request.settings;
        let is_own = settings.extra.contains_key(CONTEXT_MANAGEMENT);
        self.request.compact_above.filter(|_| !is_own)
    }

    fn has_files(&self) -> bool {
        let turns = self.prompt.turns.iter();
        turns.flat_map(|turn| &turn.content).any(block::is_file)
    }

    fn tool_choice(&self) -> Option<Value> {
        let settings = self.request.settings;
        let are_own = !own_tools(settings).is_empty();
        match (&*self.tools, self.request.tools, &settings.tool_choice) {
            ([], [], choice) if !are_own || *choice != ToolChoice::None => return None,
            (_, [], _) => return tools::choice(&ToolChoice::None, None),
            _ => {}
        }
        tools::choice(&settings.tool_choice, settings.parallel_tool_calls)
    }

    /// Returns the container for the provider's tools: the last one, unless it has expired or the app sets another.
    fn container(&self) -> Option<&str> {
        let used = self.prompt.container.as_ref()?;
        if used.is_gone(self.request.now) {
            return None;
        }
        Some(used.id.as_str())
    }

    fn output_config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        if let Some(effort) = self.thinking.effort {
            config.insert("effort".to_owned(), effort.into());
        }
        if let Some(format) = tools::format(&self.request.settings.response_format) {
            config.insert("format".to_owned(), format);
        }
        config
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settings = self.request.settings;
        let mut fields = Fields::new(serializer.serialize_map(None)?, settings);
        fields.put("model", &self.request.endpoint.model)?;
        fields.put("max_tokens", &self.max_tokens)?;
        fields.put("stream", &true)?;
        if !self.prompt.system.is_empty() {
            fields.put("system", &self.prompt.system)?;
        }
        fields.put("messages", &self.prompt.turns)?;
        let compaction = self.compact_above().map(compaction::setting);
        fields.put_some(CONTEXT_MANAGEMENT, compaction)?;
        fields.put_tools(&self.tools)?;
        fields.put_some("tool_choice", self.tool_choice())?;
        fields.put_some("thinking", self.thinking.thinking.as_ref())?;
        if !self.thinking.no_temperature {
            fields.put_some("temperature", settings.temperature)?;
        }
        match self.container() {
            // The app's own content for the container.
            Some(id)
                if settings
                    .extra
                    .get("container")
                    .is_some_and(Value::is_object) =>
            {
                let used = Map::from_iter([("id".to_owned(), id.into())]);
                fields.put_settings("container", used)?;
            }
            used => fields.put_some("container", used)?,
        }
        let output_config = self.output_config();
        if !output_config.is_empty() {
            fields.put("output_config", &output_config)?;
        }
        let user = settings.user.iter();
        let user = user.map(|user| ("user_id".to_owned(), user.as_str().into()));
        fields.put_settings("metadata", Map::from_iter(user))?;
        fields.end()
    }
}
