//! How a run is set up. The names are those of the core, in camel case; what is left out is as there, and `null` is none:
//! no limit, no wait.

use crate::refused::Refused;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::dialect::{self, Secret};
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::{event, provider, run};

/// All that a run is to know before it starts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunConfig {
    provider: String,
    #[serde(default)]
    model: String,
    api: Option<String>,
    base_url: Option<String>,
    key: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    instructions: Option<String>,
    #[serde(default)]
    tools: Vec<ToolDefinition>,
    #[serde(default)]
    settings: GenerationSettings,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    retry: RetryPolicy,
    #[serde(default)]
    timeouts: Timeouts,
    #[serde(default)]
    run_ids: run::RunIds,
    persist_attempts: Option<u32>,
    #[serde(default)]
    partial_arguments: bool,
    #[serde(default)]
    device: DevicePolicy,
    resumption: Option<Resumption>,
    #[serde(default)]
    providers: Vec<Value>,
    #[serde(default)]
    text: TextOptions,
    #[serde(default)]
    context: ContextGuard,
    #[serde(default)]
    ag_ui: AgUiOptions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolDefinition {
    name: String,
    description: String,
    parameters: Option<Value>,
    #[serde(default)]
    requires_approval: bool,
    #[serde(default)]
    idempotent: bool,
    #[serde(default)]
    repeatable: bool,
    timeout_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct GenerationSettings {
    temperature: Option<f64>,
    max_output_tokens: Option<u32>,
    tool_choice: Option<ToolChoice>,
    parallel_tool_calls: Option<bool>,
    response_format: Option<ResponseFormat>,
    reasoning: Option<ReasoningEffort>,
    cache_prompt: bool,
    extra: event::Metadata,
    context: Vec<ContextEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ToolChoice {
    Auto,
    Never,
    Required,
    #[serde(untagged)]
    Named {
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ResponseFormat {
    Text,
    Json,
    #[serde(untagged)]
    Schema {
        name: String,
        schema: Value,
        strict: bool,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ReasoningEffort {
    Off,
    Low,
    Medium,
    High,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Limits {
    max_tool_rounds: u32,
    continue_after_tools: bool,
    max_tool_calls: Option<u32>,
    max_tokens: Option<u64>,
    max_duration_ms: Option<u64>,
    max_parallel_tools: u32,
    repeats: RepeatLimit,
    at_limit: LimitPolicy,
    max_answer_bytes: u64,
    max_answer_calls: u32,
    max_line_bytes: usize,
    max_event_bytes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RepeatLimit {
    tell_after: Option<u32>,
    stop_after: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum LimitPolicy {
    Fail,
    #[default]
    Complete,
    SumUp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RetryPolicy {
    attempts: u32,
    first_delay_ms: u64,
    max_delay_ms: u64,
    max_retry_after_ms: u64,
    jitter: f64,
    seed: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Timeouts {
    silence_ms: Option<u64>,
    tool_ms: Option<u64>,
    turn_ms: Option<u64>,
    approval_ms: Option<u64>,
    deferred_ms: Option<u64>,
    closing_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DevicePolicy {
    background: BackgroundPolicy,
    offline_ms: Option<u64>,
    network_change: NetworkChangePolicy,
    killed: KilledPolicy,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BackgroundPolicy {
    Continue,
    #[default]
    PauseClocks,
    Cancel,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum NetworkChangePolicy {
    #[default]
    Keep,
    Reopen,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum KilledPolicy {
    #[default]
    Continue,
    Cancel,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Resumption {
    Never,
    LastEventId,
    Replay,
    Snapshot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct TextOptions {
    break_after_tools: bool,
    drop_blank: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        let run::TextOptions {
            break_after_tools,
            drop_blank,
        } = run::TextOptions::default();
        Self {
            break_after_tools,
            drop_blank,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ContextGuard {
    window: Option<u64>,
    warn_at: Option<f64>,
    at_limit: ContextPolicy,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ContextPolicy {
    Send,
    #[default]
    Fail,
    Trim,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AgUiOptions {
    encoding: Option<AgUiEncoding>,
    is_before_1_0: Option<bool>,
    keeps_unknown: Option<bool>,
    verification: Option<event::Verification>,
    extra_rules: Option<event::ExtraRules>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum AgUiEncoding {
    Json,
    JsonFirst,
    ProtobufFirst,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextEntry {
    description: String,
    value: String,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Default for Limits {
    fn default() -> Self {
        let core = run::Limits::default();
        Self {
            max_tool_rounds: core.max_tool_rounds,
            continue_after_tools: core.continue_after_tools,
            max_tool_calls: core.max_tool_calls,
            max_tokens: core.max_tokens,
            max_duration_ms: core.max_duration.map(millis),
            max_parallel_tools: core.max_parallel_tools,
            repeats: RepeatLimit::default(),
            at_limit: LimitPolicy::default(),
            max_answer_bytes: core.answer.bytes,
            max_answer_calls: core.answer.calls,
            max_line_bytes: core.frames.line,
            max_event_bytes: core.frames.event,
        }
    }
}

impl Default for RepeatLimit {
    fn default() -> Self {
        let core = run::RepeatLimit::default();
        Self {
            tell_after: Some(core.tell_after),
            stop_after: Some(core.stop_after),
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let core = run::RetryPolicy::default();
        Self {
            attempts: core.attempts,
            first_delay_ms: millis(core.first_delay),
            max_delay_ms: millis(core.max_delay),
            max_retry_after_ms: millis(core.max_retry_after),
            jitter: core.jitter,
            seed: core.seed,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let core = run::Timeouts::default();
        Self {
            silence_ms: core.silence.map(millis),
            tool_ms: core.tool.map(millis),
            turn_ms: core.turn.map(millis),
            approval_ms: core.approval.map(millis),
            deferred_ms: core.deferred.map(millis),
            closing_ms: core.closing.map(millis),
        }
    }
}

impl Default for DevicePolicy {
    fn default() -> Self {
        Self {
            background: BackgroundPolicy::default(),
            offline_ms: match run::OfflinePolicy::default() {
                run::OfflinePolicy::Wait { up_to } => Some(millis(up_to)),
                run::OfflinePolicy::Fail => None,
            },
            network_change: NetworkChangePolicy::default(),
            killed: KilledPolicy::default(),
        }
    }
}

impl Default for ContextGuard {
    fn default() -> Self {
        let core = run::ContextGuard::default();
        Self {
            window: core.window,
            warn_at: core.warn_at,
            at_limit: ContextPolicy::default(),
        }
    }
}

impl RunConfig {
    /// The core's configuration, with all tools registered.
    ///
    /// # Errors
    /// An unknown provider, a key that is missing, a tool that cannot be registered.
    pub fn into_core(self) -> Result<run::RunConfig, Refused> {
        let catalog = if self.providers.is_empty() {
            provider::Catalog::default()
        } else {
            let providers = serde_json::json!({ "providers": self.providers }).to_string();
            provider::Catalog::from_json(&providers).map_err(Refused::configuration)?
        };
        let provider = catalog.find(&self.provider);
        let mut endpoint = provider
            .map_err(Refused::configuration)?
            .endpoint(
                self.api.as_deref(),
                &self.model,
                self.base_url.as_deref(),
                self.key.map(Secret::from),
            )
            .and_then(|endpoint| endpoint.with_headers(self.headers))
            .map_err(Refused::configuration)?;
        if let Some(resumption) = self.resumption {
            endpoint.quirks.resumption = match resumption {
                Resumption::Never => dialect::Resumption::Never,
                Resumption::LastEventId => dialect::Resumption::LastEventId,
                Resumption::Replay => dialect::Resumption::Replay,
                Resumption::Snapshot => dialect::Resumption::Snapshot,
            };
        }
        self.ag_ui.apply(&mut endpoint.quirks.ag_ui);
        let mut tools = ToolRegistry::new();
        for tool in self.tools {
            tools = tools
                .register(tool.into())
                .map_err(Refused::configuration)?;
        }
        Ok(run::RunConfig {
            endpoint,
            tools,
            instructions: self.instructions,
            settings: self.settings.into(),
            limits: self.limits.into(),
            retry: self.retry.into(),
            timeouts: self.timeouts.into(),
            run_ids: self.run_ids,
            durability: match self.persist_attempts {
                None => run::Durability::None,
                Some(attempts) => run::Durability::Blocks { attempts },
            },
            partial_arguments: self.partial_arguments,
            device: self.device.into(),
            text: run::TextOptions {
                break_after_tools: self.text.break_after_tools,
                drop_blank: self.text.drop_blank,
            },
            context: run::ContextGuard {
                window: self.context.window,
                warn_at: self.context.warn_at,
                at_limit: match self.context.at_limit {
                    ContextPolicy::Send => run::ContextPolicy::Send,
                    ContextPolicy::Fail => run::ContextPolicy::Fail,
                    ContextPolicy::Trim => run::ContextPolicy::Trim,
                },
            },
        })
    }
}

impl AgUiOptions {
    /// Puts what is said here in the place of what is known of the provider.
    fn apply(self, known: &mut dialect::AgUiOptions) {
        if let Some(encoding) = self.encoding {
            known.encoding = match encoding {
                AgUiEncoding::Json => dialect::AgUiEncoding::Json,
                AgUiEncoding::JsonFirst => dialect::AgUiEncoding::JsonFirst,
                AgUiEncoding::ProtobufFirst => dialect::AgUiEncoding::ProtobufFirst,
            };
        }
        known.is_before_1_0 = self.is_before_1_0.unwrap_or(known.is_before_1_0);
        known.keeps_unknown = self.keeps_unknown.unwrap_or(known.keeps_unknown);
        known.verification = self.verification.unwrap_or(known.verification);
        known.extra_rules = self.extra_rules.unwrap_or(known.extra_rules);
    }
}

impl From<ContextEntry> for event::Context {
    fn from(entry: ContextEntry) -> Self {
        Self {
            description: entry.description,
            value: entry.value,
            extra: event::Metadata::new(),
        }
    }
}

impl From<ToolDefinition> for Tool {
    fn from(definition: ToolDefinition) -> Self {
        let mut tool = Self::new(definition.name, definition.description);
        if let Some(parameters) = definition.parameters {
            tool = tool.parameters(parameters);
        }
        tool.requires_approval = definition.requires_approval;
        tool.idempotent = definition.idempotent;
        tool.repeatable = definition.repeatable;
        tool.timeout = definition.timeout_ms.map(Duration::from_millis);
        tool
    }
}

impl From<GenerationSettings> for dialect::GenerationSettings {
    fn from(settings: GenerationSettings) -> Self {
        Self {
            temperature: settings.temperature,
            max_output_tokens: settings.max_output_tokens,
            tool_choice: match settings.tool_choice {
                None | Some(ToolChoice::Auto) => dialect::ToolChoice::Auto,
                Some(ToolChoice::Never) => dialect::ToolChoice::None,
                Some(ToolChoice::Required) => dialect::ToolChoice::Required,
                Some(ToolChoice::Named { name }) => dialect::ToolChoice::Named(name),
            },
            parallel_tool_calls: settings.parallel_tool_calls,
            response_format: match settings.response_format {
                None | Some(ResponseFormat::Text) => dialect::ResponseFormat::Text,
                Some(ResponseFormat::Json) => dialect::ResponseFormat::Json,
                Some(ResponseFormat::Schema {
                    name,
                    schema,
                    strict,
                }) => dialect::ResponseFormat::Schema {
                    name,
                    schema,
                    strict,
                },
            },
            context: settings.context.into_iter().map(Into::into).collect(),
            reasoning: settings.reasoning.map(|effort| match effort {
                ReasoningEffort::Off => dialect::ReasoningEffort::Off,
                ReasoningEffort::Low => dialect::ReasoningEffort::Low,
                ReasoningEffort::Medium => dialect::ReasoningEffort::Medium,
                ReasoningEffort::High => dialect::ReasoningEffort::High,
            }),
            cache_prompt: settings.cache_prompt,
            extra: settings.extra,
        }
    }
}

impl From<Limits> for run::Limits {
    fn from(limits: Limits) -> Self {
        let RepeatLimit {
            tell_after,
            stop_after,
        } = limits.repeats;
        Self {
            max_tool_rounds: limits.max_tool_rounds,
            continue_after_tools: limits.continue_after_tools,
            max_tool_calls: limits.max_tool_calls,
            max_tokens: limits.max_tokens,
            max_duration: limits.max_duration_ms.map(Duration::from_millis),
            max_parallel_tools: limits.max_parallel_tools,
            repeats: (tell_after.is_some() || stop_after.is_some()).then(|| run::RepeatLimit {
                tell_after: tell_after.unwrap_or(u32::MAX),
                stop_after: stop_after.unwrap_or(u32::MAX),
            }),
            at_limit: match limits.at_limit {
                LimitPolicy::Fail => run::LimitPolicy::Fail,
                LimitPolicy::Complete => run::LimitPolicy::Complete,
                LimitPolicy::SumUp => run::LimitPolicy::SumUp,
            },
            answer: stepwell_core::pipeline::AnswerLimits {
                bytes: limits.max_answer_bytes,
                calls: limits.max_answer_calls,
            },
            frames: stepwell_core::wire::FrameLimits {
                line: limits.max_line_bytes,
                event: limits.max_event_bytes,
            },
        }
    }
}

impl From<RetryPolicy> for run::RetryPolicy {
    fn from(policy: RetryPolicy) -> Self {
        Self {
            attempts: policy.attempts,
            first_delay: Duration::from_millis(policy.first_delay_ms),
            max_delay: Duration::from_millis(policy.max_delay_ms),
            max_retry_after: Duration::from_millis(policy.max_retry_after_ms),
            jitter: policy.jitter,
            seed: policy.seed,
        }
    }
}

impl From<Timeouts> for run::Timeouts {
    fn from(timeouts: Timeouts) -> Self {
        Self {
            silence: timeouts.silence_ms.map(Duration::from_millis),
            tool: timeouts.tool_ms.map(Duration::from_millis),
            turn: timeouts.turn_ms.map(Duration::from_millis),
            approval: timeouts.approval_ms.map(Duration::from_millis),
            deferred: timeouts.deferred_ms.map(Duration::from_millis),
            closing: timeouts.closing_ms.map(Duration::from_millis),
        }
    }
}

impl From<DevicePolicy> for run::DevicePolicy {
    fn from(policy: DevicePolicy) -> Self {
        Self {
            background: match policy.background {
                BackgroundPolicy::Continue => run::BackgroundPolicy::Continue,
                BackgroundPolicy::PauseClocks => run::BackgroundPolicy::PauseClocks,
                BackgroundPolicy::Cancel => run::BackgroundPolicy::Cancel,
            },
            offline: match policy.offline_ms {
                None => run::OfflinePolicy::Fail,
                Some(up_to) => run::OfflinePolicy::Wait {
                    up_to: Duration::from_millis(up_to),
                },
            },
            network_change: match policy.network_change {
                NetworkChangePolicy::Keep => run::NetworkChangePolicy::Keep,
                NetworkChangePolicy::Reopen => run::NetworkChangePolicy::Reopen,
            },
            killed: match policy.killed {
                KilledPolicy::Continue => run::KilledPolicy::Continue,
                KilledPolicy::Cancel => run::KilledPolicy::Cancel,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_as_in_the_core() {
        let said =
            r#"{"provider":"openai-compatible","model":"m","baseUrl":"http://localhost/v1"}"#;
        let config: RunConfig = serde_json::from_str(said).unwrap();
        let config = config.into_core().unwrap();
        assert_eq!(config, run::RunConfig::new(config.endpoint.clone()));
    }

    #[test]
    fn a_name_that_there_is_not_is_an_error() {
        let said = r#"{"provider":"ollama","limits":{"max_tool_rounds":1}}"#;
        let error = serde_json::from_str::<RunConfig>(said).err().unwrap();
        assert!(error.to_string().contains("max_tool_rounds"), "{error}");
    }

    #[test]
    fn what_is_known_of_an_agent_stays_unless_the_app_says_otherwise() {
        let known = |said: &str| {
            let mine = r#"{"name":"mine","dialect":"ag-ui","base_url":"http://x/agent",
                "quirks":{"ag_ui":{"encoding":"protobuf-first","is_before_1_0":true,"verification":"lenient",
                    "extra_rules":"off"}}}"#;
            let config =
                format!(r#"{{"provider":"mine","model":"m","providers":[{mine}],"agUi":{said}}}"#);
            let config: RunConfig = serde_json::from_str(&config).unwrap();
            let options = config.into_core().unwrap().endpoint.quirks.ag_ui;
            (
                options.encoding,
                options.is_before_1_0,
                options.verification,
                options.extra_rules,
            )
        };
        use dialect::AgUiEncoding::{Json, JsonFirst, ProtobufFirst};
        use event::ExtraRules::{Fatal, Off, Warn};
        use event::Verification::{Lenient, Protocol};
        assert_eq!(known("{}"), (ProtobufFirst, true, Lenient, Off));
        let one = r#"{"isBefore10":false}"#;
        assert_eq!(known(one), (ProtobufFirst, false, Lenient, Off));
        let kept =
            r#"{"provider":"ag-ui","baseUrl":"http://x/agent","agUi":{"keepsUnknown":true}}"#;
        let kept: RunConfig = serde_json::from_str(kept).unwrap();
        assert!(
            kept.into_core()
                .unwrap()
                .endpoint
                .quirks
                .ag_ui
                .keeps_unknown
        );
        for (encoding, verification, rules, said) in [
            ("json", "protocol", "off", (Json, true, Protocol, Off)),
            (
                "jsonFirst",
                "protocol",
                "warn",
                (JsonFirst, true, Protocol, Warn),
            ),
            (
                "protobufFirst",
                "lenient",
                "fatal",
                (ProtobufFirst, true, Lenient, Fatal),
            ),
        ] {
            let all = format!(
                r#"{{"encoding":"{encoding}","verification":"{verification}","extraRules":"{rules}"}}"#
            );
            assert_eq!(known(&all), said);
        }
    }

    #[test]
    fn an_agent_is_told_what_the_app_knows() {
        let settings = r#"{"context":[{"description":"The page","value":"Orders"}]}"#;
        let settings: GenerationSettings = serde_json::from_str(settings).unwrap();
        let context = dialect::GenerationSettings::from(settings).context;
        let expected = event::Context {
            description: "The page".to_owned(),
            value: "Orders".to_owned(),
            extra: event::Metadata::new(),
        };
        assert_eq!(context, [expected]);
    }

    /// What is left out is the default, and `null` is none, or an error where there is no none.
    #[test]
    fn absent_is_the_default_and_null_is_none() {
        fn read<T: serde::de::DeserializeOwned>(said: &str) -> T {
            serde_json::from_str(said).unwrap()
        }
        assert_eq!(
            run::Timeouts::from(read::<Timeouts>("{}")),
            run::Timeouts::default()
        );
        let none = r#"{"silenceMs":null,"toolMs":null,"turnMs":null,"approvalMs":null,"deferredMs":null,"closingMs":null}"#;
        let expected = run::Timeouts {
            silence: None,
            tool: None,
            turn: None,
            approval: None,
            deferred: None,
            closing: None,
        };
        assert_eq!(run::Timeouts::from(read::<Timeouts>(none)), expected);

        assert_eq!(
            run::Limits::from(read::<Limits>("{}")),
            run::Limits::default()
        );
        let none = r#"{"maxToolCalls":null,"maxTokens":null,"maxDurationMs":null,"repeats":{"tellAfter":null,"stopAfter":null}}"#;
        let expected = run::Limits {
            max_tool_calls: None,
            max_tokens: None,
            max_duration: None,
            repeats: None,
            ..run::Limits::default()
        };
        assert_eq!(run::Limits::from(read::<Limits>(none)), expected);

        let device = |said: &str| run::DevicePolicy::from(read::<DevicePolicy>(said));
        assert_eq!(device("{}"), run::DevicePolicy::default());
        let none = device(r#"{"offlineMs":null}"#);
        assert_eq!(none.offline, run::OfflinePolicy::Fail);
        let up_to = Duration::from_secs(1);
        let said = device(r#"{"offlineMs":1000}"#);
        assert_eq!(said.offline, run::OfflinePolicy::Wait { up_to });

        let context = |said: &str| read::<ContextGuard>(said).warn_at;
        assert_eq!(context("{}"), run::ContextGuard::default().warn_at);
        assert_eq!(context(r#"{"warnAt":null}"#), None);

        for said in [r#"{"maxToolRounds":null}"#, r#"{"repeats":null}"#] {
            assert!(serde_json::from_str::<Limits>(said).is_err(), "{said}");
        }
        assert!(serde_json::from_str::<RetryPolicy>(r#"{"attempts":null}"#).is_err());
    }
}
