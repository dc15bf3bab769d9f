//! The setup of a run by a scenario: the names are those of the bindings' `RunConfig`.

use super::outputs::name;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Usd;
use stepwell_core::dialect::{
    AgUiEncoding, AgUiOptions, Endpoint, GenerationSettings, ResponseFormat, Resumption, Secret,
};
use stepwell_core::event::{ExtraRules, Verification};
use stepwell_core::pipeline::AnswerLimits;
use stepwell_core::provider;
use stepwell_core::run::{
    BackgroundPolicy, CompactionPolicy, CompactionWay, ContextPolicy, Credentials, Durability,
    ErrorKind, Fallback, FallbackModel, KilledPolicy, LimitPolicy, Limits, ModelChoice,
    NetworkChangePolicy, OfflinePolicy, RepeatLimit, Retry, RetryPolicy, RunConfig, RunIds,
    SummaryPolicy, Timeouts, TurnOptions,
};
use stepwell_core::tool::{OutputMode, OutputType, Tool, ToolRegistry};

/// The configuration. A name that is not known here is an error of the schema's.
pub(super) fn config(said: &Value) -> Arc<RunConfig> {
    let text = |name: &str| said[name].as_str();
    let mut endpoint = endpoint(said);
    if let Some(resumption) = text("resumption") {
        endpoint.quirks.resumption = match resumption {
            "never" => Resumption::Never,
            "last_event_id" => Resumption::LastEventId,
            "replay" => Resumption::Replay,
            "snapshot" => Resumption::Snapshot,
            "background" => Resumption::Background,
            other => panic!("no resumption {other}"),
        };
    }
    ag_ui(&said["ag_ui"], &mut endpoint.quirks.ag_ui);
    let mut config = RunConfig::new(endpoint);
    config.tools = tools(&said["tools"]);
    config.instructions = text("instructions").map(str::to_owned);
    config.settings = settings(&said["settings"], &GenerationSettings::default());
    config.limits = limits(&said["limits"]);
    config.retry = retry(&said["retry"]);
    config.fallback = fallback(&said["fallback"]);
    config.timeouts = timeouts(&said["timeouts"]);
    config.credentials = credentials(said);
    if text("run_ids") == Some("host") {
        config.run_ids = RunIds::Host;
    }
    if let Some(attempts) = said["persist_attempts"].as_u64() {
        let attempts = attempts as u32;
        config.durability = Durability::Blocks { attempts };
    }
    config.partial_arguments = said["partial_arguments"] == true;
    device(&said["device"], &mut config);
    config.text.break_after_tools = said["text"]["break_after_tools"] != false;
    config.text.drop_blank = said["text"]["drop_blank"] == true;
    let guard = &said["context_guard"];
    config.context_guard.window = guard["window"].as_u64();
    config.context_guard.warn_at = optional(
        guard,
        "warn_at",
        config.context_guard.warn_at,
        Value::as_f64,
    );
    config.context_guard.at_limit = match guard["at_limit"].as_str() {
        None | Some("fail") => ContextPolicy::Fail,
        Some("send") => ContextPolicy::Send,
        Some("trim") => ContextPolicy::Trim,
        Some(other) => panic!("no context policy {other}"),
    };
    config.compaction = compaction(&said["compaction"]);
    config.output = said.get("output").map(output);
    if let Some(hooks) = said.get("hooks") {
        config.hooks = serde_json::from_value(hooks.clone()).expect("hooks");
    }
    Arc::new(config)
}

fn endpoint(said: &Value) -> Endpoint {
    let text = |name: &str| said[name].as_str();
    let provider = provider::find(text("provider").expect("a provider")).expect("it is known");
    let endpoint = provider.endpoint(
        text("api"),
        text("model").unwrap_or_default(),
        text("base_url"),
        text("key").map(|key| Secret::from(key.to_owned())),
    );
    endpoint.expect("an endpoint")
}

fn credentials(said: &Value) -> Credentials {
    match said["credentials"].as_str() {
        Some("host") => Credentials::Host,
        _ => Credentials::Fixed,
    }
}

fn kind(said: &Value) -> ErrorKind {
    let mut kinds = ErrorKind::ALL.iter();
    let kind = kinds.find(|kind| said == &Value::from(name(kind)));
    *kind.expect("a kind of failure")
}

fn other_model(said: &Value) -> FallbackModel {
    FallbackModel {
        endpoint: endpoint(said),
        settings: said
            .get("settings")
            .map(|said| settings(said, &GenerationSettings::default())),
        credentials: credentials(said),
    }
}

fn compaction(said: &Value) -> CompactionPolicy {
    let default = CompactionPolicy::default();
    let ways = said["ways"].as_array().into_iter().flatten();
    CompactionPolicy {
        at: said["at"].as_f64().unwrap_or(default.at),
        ways: ways.map(way).collect(),
    }
}

fn way(said: &Value) -> CompactionWay {
    let default = SummaryPolicy::default();
    match said["type"].as_str().expect("a way of compaction") {
        "drop_results" => CompactionWay::DropResults {
            keep: small(&said["keep"]).expect("the results that stay"),
        },
        "summary" => CompactionWay::Summary(SummaryPolicy {
            model: said.get("model").map(other_model).map(Box::new),
            instructions: said["instructions"].as_str().map(str::to_owned),
            keep: said["keep"].as_f64().unwrap_or(default.keep),
        }),
        "provider" => CompactionWay::Provider,
        "host" => CompactionWay::Host,
        other => panic!("no way of compaction {other}"),
    }
}

fn fallback(said: &Value) -> Fallback {
    let default = Fallback::default();
    let list = |name: &str| said[name].as_array();
    Fallback {
        models: list("models")
            .into_iter()
            .flatten()
            .map(other_model)
            .collect(),
        after: match list("after") {
            None => default.after,
            Some(kinds) => kinds.iter().map(kind).collect(),
        },
        after_text: said["after_text"] == true,
        rest: millis(&said["rest_ms"]).unwrap_or(default.rest),
        choice: match said["choice"].as_str() {
            None | Some("in_order") => ModelChoice::InOrder,
            Some("host") => ModelChoice::Host,
            Some(other) => panic!("no choice {other}"),
        },
    }
}

fn output(said: &Value) -> OutputType {
    let name = said["name"].as_str().expect("a name");
    let mut output = OutputType::new(name, said["schema"].clone()).expect("a type");
    if let Some(description) = said["description"].as_str() {
        output = output.description(description);
    }
    if let Some(retries) = small(&said["retries"]) {
        output = output.retries(retries);
    }
    let mode = match said["mode"].as_str() {
        None | Some("auto") => OutputMode::Auto,
        Some("native") => OutputMode::Native,
        Some("tool") => OutputMode::Tool,
        Some("prompt") => OutputMode::Prompt,
        Some(other) => panic!("no mode {other}"),
    };
    output
        .mode(mode)
        .decoded_by_host(said["decoded_by_host"] == true)
}

/// Reads an optional value: `null` means none, absence the default.
fn optional<T>(
    said: &Value,
    name: &str,
    default: Option<T>,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    match said.get(name) {
        None => default,
        Some(value) => read(value),
    }
}

fn millis(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}

fn small(value: &Value) -> Option<u32> {
    value.as_u64().map(|value| value as u32)
}

fn tools(said: &Value) -> ToolRegistry {
    let mut tools = ToolRegistry::new();
    for said in said.as_array().into_iter().flatten() {
        let text = |name: &str| said[name].as_str().unwrap_or_default();
        let mut tool = Tool::new(text("name"), text("description"));
        if let Some(schema) = said.get("parameters") {
            tool = tool.parameters(schema.clone());
        }
        tool.requires_approval = said["requires_approval"] == true;
        tool.idempotent = said["idempotent"] == true;
        tool.repeatable = said["repeatable"] == true;
        tool.timeout = millis(&said["timeout_ms"]);
        tools = tools.register(tool).expect("the tool is sound");
    }
    tools
}

/// The options of a turn that is else as the configuration says.
pub(super) fn options(said: &Value, config: &RunConfig) -> TurnOptions {
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let names = |names: &Value| serde_json::from_value(names.clone()).expect("names");
    TurnOptions {
        instructions: text("instructions"),
        tool_names: said.get("tool_names").map(names),
        tools: tools(&said["tools"]),
        settings: said
            .get("settings")
            .map(|said| settings(said, &config.settings)),
        limits: said.get("limits").map(limits),
        user: text("user"),
        output: said.get("output").map(output),
        whole_history: said["whole_history"] == true,
        ..TurnOptions::default()
    }
}

/// Builds the settings: the scenario's values override `base`.
fn settings(said: &Value, base: &GenerationSettings) -> GenerationSettings {
    GenerationSettings {
        temperature: said["temperature"].as_f64().or(base.temperature),
        max_output_tokens: small(&said["max_output_tokens"]).or(base.max_output_tokens),
        response_format: match &said["response_format"] {
            Value::Object(form) => ResponseFormat::Schema {
                name: form["name"].as_str().expect("a name").to_owned(),
                schema: form["schema"].clone(),
                strict: form["strict"] == true,
            },
            _ => base.response_format.clone(),
        },
        context: match said.get("context") {
            None => base.context.clone(),
            Some(entries) => serde_json::from_value(entries.clone()).expect("entries"),
        },
        extra: match said["extra"].as_object() {
            None => base.extra.clone(),
            Some(extra) => extra.clone(),
        },
        ..base.clone()
    }
}

fn ag_ui(said: &Value, known: &mut AgUiOptions) {
    let text = |name: &str| said[name].as_str();
    known.encoding = match text("encoding") {
        None => known.encoding,
        Some("json") => AgUiEncoding::Json,
        Some("json_first") => AgUiEncoding::JsonFirst,
        Some("protobuf_first") => AgUiEncoding::ProtobufFirst,
        Some(other) => panic!("no encoding {other}"),
    };
    known.is_before_1_0 = said["is_before_1_0"]
        .as_bool()
        .unwrap_or(known.is_before_1_0);
    known.keeps_unknown = said["keeps_unknown"]
        .as_bool()
        .unwrap_or(known.keeps_unknown);
    known.verification = match text("verification") {
        None => known.verification,
        Some("protocol") => Verification::Protocol,
        Some("lenient") => Verification::Lenient,
        Some(other) => panic!("no verification {other}"),
    };
    known.extra_rules = match text("extra_rules") {
        None => known.extra_rules,
        Some("off") => ExtraRules::Off,
        Some("warn") => ExtraRules::Warn,
        Some("fatal") => ExtraRules::Fatal,
        Some(other) => panic!("no extra rules {other}"),
    };
}

fn limits(said: &Value) -> Limits {
    let default = Limits::default();
    let repeats = RepeatLimit::default();
    let never = |limit: Option<u32>| limit.unwrap_or(u32::MAX);
    let tell = optional(
        &said["repeats"],
        "tell_after",
        Some(repeats.tell_after),
        small,
    );
    let stop = optional(
        &said["repeats"],
        "stop_after",
        Some(repeats.stop_after),
        small,
    );
    Limits {
        max_tool_rounds: small(&said["max_tool_rounds"]).unwrap_or(default.max_tool_rounds),
        continue_after_tools: said["continue_after_tools"] != false,
        max_parallel_tools: small(&said["max_parallel_tools"])
            .unwrap_or(default.max_parallel_tools),
        max_tool_calls: small(&said["max_tool_calls"]),
        max_tokens: said["max_tokens"].as_u64(),
        max_cost: said["max_cost"]
            .as_f64()
            .map(|cost| Usd::from_dollars(cost).expect("an amount")),
        max_duration: millis(&said["max_duration_ms"]),
        repeats: (tell.is_some() || stop.is_some()).then(|| RepeatLimit {
            tell_after: never(tell),
            stop_after: never(stop),
        }),
        at_limit: match said["at_limit"].as_str() {
            None | Some("complete") => LimitPolicy::Complete,
            Some("fail") => LimitPolicy::Fail,
            Some("sum_up") => LimitPolicy::SumUp,
            Some(other) => panic!("no limit policy {other}"),
        },
        answer: AnswerLimits {
            bytes: said["max_answer_bytes"]
                .as_u64()
                .unwrap_or(default.answer.bytes),
            calls: small(&said["max_answer_calls"]).unwrap_or(default.answer.calls),
        },
        frames: default.frames,
    }
}

fn retry(said: &Value) -> RetryPolicy {
    let default = RetryPolicy::default();
    let rows = said["by_kind"].as_array();
    let row = |said: &Value| Retry {
        kind: kind(&said["kind"]),
        attempts: small(&said["attempts"]),
        first_delay: millis(&said["first_delay_ms"]),
        after_text: said["after_text"] == true,
    };
    RetryPolicy {
        attempts: small(&said["attempts"]).unwrap_or(default.attempts),
        first_delay: millis(&said["first_delay_ms"]).unwrap_or(default.first_delay),
        max_delay: millis(&said["max_delay_ms"]).unwrap_or(default.max_delay),
        max_retry_after: millis(&said["max_retry_after_ms"]).unwrap_or(default.max_retry_after),
        jitter: said["jitter"].as_f64().unwrap_or(default.jitter),
        seed: said["seed"].as_u64().unwrap_or(default.seed),
        by_kind: rows.into_iter().flatten().map(row).collect(),
        accept_empty: said["accept_empty"]
            .as_bool()
            .unwrap_or(default.accept_empty),
    }
}

fn timeouts(said: &Value) -> Timeouts {
    let default = Timeouts::default();
    let time = |name: &str, default| optional(said, name, default, millis);
    Timeouts {
        silence: time("silence_ms", default.silence),
        tool: time("tool_ms", default.tool),
        turn: time("turn_ms", default.turn),
        approval: time("approval_ms", default.approval),
        deferred: time("deferred_ms", default.deferred),
        credentials: time("credentials_ms", default.credentials),
        closing: time("closing_ms", default.closing),
    }
}

fn device(said: &Value, config: &mut RunConfig) {
    let device = &mut config.device;
    device.background = match said["background"].as_str() {
        None | Some("pause_clocks") => BackgroundPolicy::PauseClocks,
        Some("continue") => BackgroundPolicy::Continue,
        Some("cancel") => BackgroundPolicy::Cancel,
        Some(other) => panic!("no background policy {other}"),
    };
    device.offline = match said.get("offline_ms") {
        None => OfflinePolicy::default(),
        Some(wait) => match millis(wait) {
            Some(up_to) => OfflinePolicy::Wait { up_to },
            None => OfflinePolicy::Fail,
        },
    };
    device.network_change = match said["network_change"].as_str() {
        None | Some("keep") => NetworkChangePolicy::Keep,
        Some("reopen") => NetworkChangePolicy::Reopen,
        Some(other) => panic!("no network policy {other}"),
    };
    device.killed = match said["killed"].as_str() {
        None | Some("continue") => KilledPolicy::Continue,
        Some("cancel") => KilledPolicy::Cancel,
        Some(other) => panic!("no killed policy {other}"),
    };
}
