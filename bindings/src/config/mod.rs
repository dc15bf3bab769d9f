//! How a run is set up.

mod ag_ui;
mod compaction;
mod context;
mod device;
mod fallback;
mod limits;
mod output;
mod price;
mod tool_definition;
mod turn_options;

pub use ag_ui::{AgUiEncoding, AgUiOptions, ContextEntry, ExtraRules, Verification};
pub use compaction::{CompactionPolicy, CompactionWay};
pub use context::{ContextGuard, ContextPolicy, TextOptions};
pub use device::{BackgroundPolicy, DevicePolicy, KilledPolicy, NetworkChangePolicy};
pub use fallback::{Fallback, FallbackModel, ModelChoice};
pub use limits::{LimitPolicy, Limits, RepeatLimit, Retry, RetryPolicy, Timeouts};
pub use output::{OutputMode, OutputType};
pub use price::{LongContextPrice, ModelPrice, model_price};
pub use tool_definition::ToolDefinition;
pub use turn_options::TurnOptions;

use crate::error::StepwellError;
use crate::hook::HookSpec;
use crate::json_value::JsonValue;
use fallback::EndpointOptions;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use stepwell_core::dialect;
use stepwell_core::run;
use stepwell_core::tool::ToolRegistry;
use stepwell_core::{event, provider};
use stepwell_mirror::mirror;

/// All that a run needs to know before it starts: the provider, the tools, the limits.
///
/// The configuration is no part of a snapshot, so keys never reach the store: the app passes it again to restore a run.
#[derive(Clone, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[uniffi::export(Debug, Display)]
pub struct RunConfig {
    /// The provider's name, such as `openai` or `openai-compatible`.
    pub provider: String,
    /// The model; may be empty where the provider's requests name none.
    #[uniffi(default = "")]
    #[serde(default)]
    pub model: String,
    /// Which of the provider's APIs; its usual one if absent.
    #[uniffi(default = None)]
    pub api: Option<String>,
    /// An address instead of the provider's own; for AG-UI the agent's whole address.
    #[uniffi(default = None)]
    pub base_url: Option<String>,
    /// The API key. It is neither printed nor stored.
    #[uniffi(default = None)]
    pub key: Option<String>,
    /// Headers to send in addition to the provider's own.
    #[uniffi(default)]
    #[serde(default)]
    pub headers: HashMap<String, String>,
    /// Where the key and the headers of the requests come from; those above if absent. An `Agent` takes this from its
    /// `credentials`.
    #[uniffi(default = None)]
    pub credentials: Option<Credentials>,
    /// The app's own instructions; sent first, and no part of the history.
    #[uniffi(default = None)]
    pub instructions: Option<String>,
    /// The tools on offer. An `Agent` with handlers takes its tools with them instead.
    #[uniffi(default)]
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// The settings for the model's answers.
    #[uniffi(default)]
    #[serde(default)]
    pub settings: GenerationSettings,
    /// How far a run may go.
    #[uniffi(default)]
    #[serde(default)]
    pub limits: Limits,
    /// When a failed request is retried.
    #[uniffi(default)]
    #[serde(default)]
    pub retry: RetryPolicy,
    /// The models that are asked when this one has failed, or is not chosen.
    #[uniffi(default)]
    #[serde(default)]
    pub fallback: Fallback,
    /// How long things may take.
    #[uniffi(default)]
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Who makes the run ids of later hops; the core if absent. An `Agent` gets them from its `run_source`.
    #[uniffi(default = None)]
    pub run_ids: Option<RunIds>,
    /// How often the write of a finished block is tried, the first time included, before the run fails. What depends on
    /// the block waits until it is stored: by the app that drives a `RunMachine`, or by the store of an `Agent`, which
    /// always stores if it has one. If absent, nothing is stored.
    #[uniffi(default = None)]
    pub persist_attempts: Option<u32>,
    /// Whether the arguments of tool calls are parsed while they stream, for the event `PartialArguments` and
    /// `RunMachine.partial_arguments`. Parsing takes time and memory in proportion to the arguments.
    #[uniffi(default = false)]
    #[serde(default)]
    pub partial_arguments: bool,
    /// What happens when the app is suspended or killed, or the network goes or changes.
    #[uniffi(default)]
    #[serde(default)]
    pub device: DevicePolicy,
    /// How a stream that breaks off is resumed; as Stepwell knows the provider if absent.
    #[uniffi(default = None)]
    pub resumption: Option<Resumption>,
    /// Custom providers, for `provider` to name: a JSON object whose `providers` is a list, as `stepwell --providers`
    /// takes it.
    #[uniffi(default = None)]
    #[serde(default, deserialize_with = "list_of_providers")]
    pub providers: Option<JsonValue>,
    /// The price of the model, instead of the price that Stepwell knows: a negotiated one, or that of the app's own
    /// server.
    #[uniffi(default = None)]
    pub price: Option<ModelPrice>,
    /// How the model's text is shown.
    #[uniffi(default)]
    #[serde(default)]
    pub text: TextOptions,
    /// What happens when the conversation fills the model's context window.
    #[uniffi(default)]
    #[serde(default)]
    pub context_guard: ContextGuard,
    /// How a long conversation is kept from filling the model's context window.
    #[uniffi(default)]
    #[serde(default)]
    pub compaction: CompactionPolicy,
    /// How an AG-UI agent differs from the protocol.
    #[uniffi(default)]
    #[serde(default)]
    pub ag_ui: AgUiOptions,
    /// The type of the answer, if the answer should be more than text.
    #[uniffi(default = None)]
    pub output: Option<OutputType>,
    /// What happens to a turn of an `Agent` that begins while another turn of its thread is under way; the turn fails
    /// if absent. A `RunMachine` is one turn, and ignores this field.
    #[uniffi(default = None)]
    pub when_busy: Option<WhenBusy>,
    /// The app's hooks, in the order in which they are asked. An `Agent` takes them with their code instead.
    #[uniffi(default)]
    #[serde(default)]
    pub hooks: Vec<HookSpec>,
}

impl fmt::Debug for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.name).collect();
        f.debug_struct("RunConfig")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("api", &self.api)
            .field("base_url", &self.base_url)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What happens to a turn that begins while another turn of its thread is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum WhenBusy {
    /// The new turn fails at once as busy: nothing of it is sent, stored, or added to the conversation, and the other
    /// turn continues.
    Fail,
    /// The other turn is cancelled, and the new one continues from where that turn stopped: for an app with one user,
    /// who has moved on.
    Cancel,
    /// The new turn waits until the turns before it have ended.
    Queue,
    /// The message joins the turn under way, whose model answers it; that turn's end is the end of the new turn too. If
    /// the turn ends before it has taken the message, the message begins a turn of its own.
    Steer,
}

#[cfg(feature = "agent")]
impl From<WhenBusy> for stepwell_io::WhenBusy {
    fn from(when: WhenBusy) -> Self {
        match when {
            WhenBusy::Fail => Self::Fail,
            WhenBusy::Cancel => Self::Cancel,
            WhenBusy::Queue => Self::Queue,
            WhenBusy::Steer => Self::Steer,
        }
    }
}

/// The settings for the model's answers. An absent setting has the provider's default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GenerationSettings {
    /// Randomness.
    #[uniffi(default = None)]
    pub temperature: Option<f64>,
    /// The most tokens of an answer.
    #[uniffi(default = None)]
    pub max_output_tokens: Option<u32>,
    /// Whether the model may, must or must not call tools; it may if absent.
    #[uniffi(default = None)]
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may ask for several tools at once.
    #[uniffi(default = None)]
    pub parallel_tool_calls: Option<bool>,
    /// What form the answer has; text if absent.
    #[uniffi(default = None)]
    pub response_format: Option<ResponseFormat>,
    /// How much the model thinks before it answers.
    #[uniffi(default = None)]
    pub reasoning: Option<ReasoningEffort>,
    /// How long the provider should keep the instructions, the tools and the conversation so far in its prompt cache.
    /// If absent, the provider decides, and one that wants marks caches nothing.
    #[uniffi(default = None)]
    pub cache_prompt: Option<CacheLifetime>,
    /// Fields for the request's body in the provider's own words, a JSON object; they override Stepwell's. Tools that
    /// the provider runs itself (`tools`) are sent alongside the app's.
    #[uniffi(default = None)]
    pub extra: Option<JsonValue>,
    /// Context for an AG-UI agent in addition to the conversation. Other APIs do not receive it.
    #[uniffi(default = [])]
    pub context: Vec<ContextEntry>,
    /// An identifier that the app gives the end user of the request: for the provider's detection of misuse, say. Never
    /// the user's name or address.
    #[uniffi(default = None)]
    pub user: Option<String>,
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// As the model sees fit.
    Auto,
    /// None, though tools may be on offer.
    Never,
    /// At least one.
    Required,
    /// The tool of this name.
    #[serde(untagged)]
    Named {
        /// The tool.
        name: String,
    },
}

/// What form the answer has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
#[serde(rename_all = "camelCase")]
pub enum ResponseFormat {
    /// Text.
    Text,
    /// Some JSON object.
    Json,
    /// JSON of a schema.
    #[serde(untagged)]
    Schema {
        /// The name of the form: letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema.
        schema: JsonValue,
        /// Whether the provider must hold the model to the schema, if the provider can.
        strict: bool,
    },
}

mirror! {
    /// How much the model thinks before it answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::dialect::ReasoningEffort, both)]
    pub enum ReasoningEffort;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::dialect::CacheLifetime, both)]
    pub enum CacheLifetime;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::dialect::Resumption, both)]
    pub enum Resumption;

    /// Where the key and the headers of a run's requests come from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Credentials, both)]
    pub enum Credentials {
        /// The key and headers of the configuration.
        Fixed,
        /// The app is asked before each request, and again when the provider refuses the app's answer with a 401.
        Host,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::RunIds, both)]
    pub enum RunIds;
}

/// Reads the list of providers; in JSON the list comes without the object around it.
fn list_of_providers<'de, D: Deserializer<'de>>(from: D) -> Result<Option<JsonValue>, D::Error> {
    let providers = Vec::<Value>::deserialize(from)?;
    Ok(Some(JsonValue::of(&json!({ "providers": providers }))))
}

impl RunConfig {
    /// Converts to the core's configuration, with all tools registered.
    ///
    /// # Errors
    /// The provider is unknown, a key is missing, a tool cannot be registered, or a limit of cost is set for a model
    /// without a price.
    pub fn into_core(self) -> Result<run::RunConfig, StepwellError> {
        let credentials = self.credentials.map(Into::into).unwrap_or_default();
        let providers = self.providers.as_ref();
        let endpoint = EndpointOptions {
            provider: &self.provider,
            model: &self.model,
            api: self.api.as_deref(),
            base_url: self.base_url.as_deref(),
            key: self.key,
            headers: self.headers,
            credentials,
            resumption: self.resumption,
        };
        let mut endpoint = endpoint.endpoint(providers)?;
        if let Some(price) = self.price {
            endpoint.quirks.price = Some(price.into_core()?);
        }
        self.ag_ui.apply(&mut endpoint.quirks.ag_ui);
        let mut tools = ToolRegistry::new();
        for tool in self.tools {
            tools = tools.register(tool.try_into()?)?;
        }
        let settings = self
            .settings
            .over(&dialect::GenerationSettings::default())?;
        let config = run::RunConfig {
            endpoint,
            tools,
            instructions: self.instructions,
            fallback: self.fallback.into_core(providers)?,
            settings,
            limits: self.limits.into_core()?,
            retry: self.retry.into(),
            timeouts: self.timeouts.into(),
            run_ids: self.run_ids.map(Into::into).unwrap_or_default(),
            durability: match self.persist_attempts {
                None => run::Durability::None,
                Some(attempts) => run::Durability::Blocks { attempts },
            },
            credentials,
            partial_arguments: self.partial_arguments,
            device: self.device.into(),
            text: self.text.into(),
            context_guard: self.context_guard.into(),
            compaction: self.compaction.into_core(providers)?,
            output: self.output.map(OutputType::into_core).transpose()?,
            hooks: self.hooks.into_iter().map(Into::into).collect(),
            tells_moves: false,
        };
        config.check_price().map_err(|error| {
            StepwellError::configuration(&error, "give `price`, or leave out `max_cost`")
        })?;
        config.check_fallback().map_err(|error| {
            StepwellError::configuration(&error, "leave the agent out of `fallback`")
        })?;
        config.check_compaction().map_err(|error| {
            StepwellError::configuration(&error, "correct `compaction`, or leave it out")
        })?;
        Ok(config)
    }
}

/// Returns the catalog of providers, with the app's custom ones.
pub(crate) fn catalog(providers: Option<&JsonValue>) -> Result<provider::Catalog, StepwellError> {
    let Some(json) = providers else {
        return Ok(provider::Catalog::default());
    };
    provider::Catalog::from_json(json.as_str()).map_err(|error| {
        let advice =
            "give an object whose `providers` is a list, as `stepwell --providers` takes it";
        StepwellError::configuration(&error, advice)
    })
}

impl GenerationSettings {
    /// Converts to the core's settings; fields that are set here override `base`.
    pub(crate) fn over(
        self,
        base: &dialect::GenerationSettings,
    ) -> Result<dialect::GenerationSettings, StepwellError> {
        let mut extra = base.extra.clone();
        if let Some(json) = self.extra {
            let given: event::Metadata = serde_json::from_str(json.as_str()).map_err(|error| {
                let reason = format!("`extra` is no JSON object: {error}");
                StepwellError::configuration(&reason, "give the fields of the body as one object")
            })?;
            extra.extend(given);
        }
        Ok(dialect::GenerationSettings {
            temperature: self.temperature.or(base.temperature),
            max_output_tokens: self.max_output_tokens.or(base.max_output_tokens),
            tool_choice: match self.tool_choice {
                None => base.tool_choice.clone(),
                Some(ToolChoice::Auto) => dialect::ToolChoice::Auto,
                Some(ToolChoice::Never) => dialect::ToolChoice::None,
                Some(ToolChoice::Required) => dialect::ToolChoice::Required,
                Some(ToolChoice::Named { name }) => dialect::ToolChoice::Named(name),
            },
            parallel_tool_calls: self.parallel_tool_calls.or(base.parallel_tool_calls),
            response_format: match self.response_format {
                None => base.response_format.clone(),
                Some(ResponseFormat::Text) => dialect::ResponseFormat::Text,
                Some(ResponseFormat::Json) => dialect::ResponseFormat::Json,
                Some(ResponseFormat::Schema {
                    name,
                    schema,
                    strict,
                }) => dialect::ResponseFormat::Schema {
                    name,
                    schema: serde_json::from_str(schema.as_str()).map_err(|error| {
                        let reason = format!("`schema` is no JSON: {error}");
                        StepwellError::configuration(&reason, "give the JSON Schema as a JSON text")
                    })?,
                    strict,
                },
            },
            context: if self.context.is_empty() {
                base.context.clone()
            } else {
                self.context.into_iter().map(Into::into).collect()
            },
            reasoning: self.reasoning.map(Into::into).or(base.reasoning),
            cache_prompt: self.cache_prompt.map(Into::into).or(base.cache_prompt),
            user: self.user.or_else(|| base.user.clone()),
            extra,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
