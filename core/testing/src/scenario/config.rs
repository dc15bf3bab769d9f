//! A configuration in the form of scenarios.

use super::outputs;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;
use stepwell_core::dialect::{Dialect, Endpoint, GenerationSettings, ResponseFormat, Resumption};
use stepwell_core::provider;
use stepwell_core::run::{
    CompactionPolicy, CompactionWay, Credentials, Durability, Fallback, FallbackModel,
    OfflinePolicy, RepeatLimit, RunConfig, RunIds, TextOptions,
};

/// The configuration as a scenario has it. Keys and headers are left out, as are prices and other data of the endpoint
/// that scenarios cannot name.
#[must_use]
pub fn config(config: &RunConfig) -> Value {
    let endpoint = &config.endpoint;
    let mut said = model(endpoint, config.credentials);
    said.maybe("instructions", config.instructions.as_deref());
    said.put("tools", tools(config));
    said.put("settings", settings(&config.settings));
    said.put("limits", limits(config));
    said.put("retry", retry(config));
    if !config.fallback.models.is_empty() {
        said.put("fallback", fallback(&config.fallback));
    }
    said.put("timeouts", timeouts(config));
    said.maybe(
        "run_ids",
        (config.run_ids == RunIds::Host).then_some("host"),
    );
    if let Durability::Blocks { attempts } = config.durability {
        said.put("persist_attempts", attempts);
    }
    said.put("partial_arguments", config.partial_arguments);
    said.put("device", device(config));
    said.put("text", text(config.text));
    let guard = &config.context_guard;
    let mut context = Members::default();
    context.maybe("window", guard.window);
    context.put("warn_at", json!(guard.warn_at));
    context.put("at_limit", name(&guard.at_limit));
    said.put("context_guard", context.0);
    if !config.compaction.is_off() {
        said.put("compaction", compaction(&config.compaction));
    }
    if endpoint.quirks.resumption != Resumption::Never {
        said.put("resumption", name(&endpoint.quirks.resumption));
    }
    if let Some(output) = &config.output {
        said.put(
            "output",
            json!({
                "name": output.name(),
                "schema": output.schema(),
                "mode": name(&output.wanted_mode()),
                "retries": output.most_retries(),
                "decoded_by_host": output.is_decoded_by_host(),
            }),
        );
    }
    if !config.hooks.is_empty() {
        said.put("hooks", json!(config.hooks));
    }
    if endpoint.dialect == Dialect::AgUi {
        let options = &endpoint.quirks.ag_ui;
        said.put(
            "ag_ui",
            json!({
                "encoding": name(&options.encoding),
                "is_before_1_0": options.is_before_1_0,
                "keeps_unknown": options.keeps_unknown,
                "verification": name(&options.verification),
                "extra_rules": name(&options.extra_rules),
            }),
        );
    }
    Value::Object(said.0)
}

#[derive(Default)]
struct Members(Map<String, Value>);

impl Members {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

/// The name of an enum's variant, as scenarios write it.
fn name(value: &impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name.replace('-', "_").into(),
        Ok(other) => other,
        Err(_) => Value::Null,
    }
}

/// What names a model.
fn model(endpoint: &Endpoint, credentials: Credentials) -> Members {
    let mut said = Members::default();
    said.put("provider", endpoint.provider.as_str());
    let api = provider::find(&endpoint.provider)
        .ok()
        .and_then(|provider| {
            let mut apis = provider.apis.iter();
            apis.find(|api| api.dialect == endpoint.dialect)
                .map(|api| api.name.to_string())
        });
    said.maybe("api", api);
    said.put("model", endpoint.model.as_str());
    said.put("base_url", endpoint.base_url.as_str());
    said.maybe(
        "credentials",
        (credentials == Credentials::Host).then_some("host"),
    );
    said
}

fn other_model(other: &FallbackModel) -> Value {
    let mut said = model(&other.endpoint, other.credentials);
    said.maybe("settings", other.settings.as_ref().map(settings));
    Value::Object(said.0)
}

fn compaction(policy: &CompactionPolicy) -> Value {
    let ways = policy.ways.iter().map(|way| match way {
        CompactionWay::DropResults { keep } => json!({"type": "drop_results", "keep": keep}),
        CompactionWay::Summary(policy) => {
            let mut said = Members::default();
            said.put("type", "summary");
            said.maybe("model", policy.model.as_deref().map(other_model));
            said.maybe("instructions", policy.instructions.as_deref());
            said.put("keep", policy.keep);
            Value::Object(said.0)
        }
        plain => json!({"type": plain}),
    });
    json!({"at": policy.at, "ways": ways.collect::<Vec<_>>()})
}

fn fallback(fallback: &Fallback) -> Value {
    let models = fallback.models.iter().map(other_model);
    let after = fallback.after.iter().map(outputs::name);
    json!({
        "models": models.collect::<Vec<_>>(),
        "after": after.collect::<Vec<_>>(),
        "after_text": fallback.after_text,
        "rest_ms": millis(fallback.rest),
        "choice": name(&fallback.choice),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn tools(config: &RunConfig) -> Value {
    let definitions = config.tools.definitions().iter();
    let tools = definitions.filter_map(|definition| {
        let tool = config.tools.get(&definition.name)?;
        let mut said = Members::default();
        said.put("name", definition.name.as_str());
        said.put("description", definition.description.as_str());
        said.put(
            "parameters",
            definition.parameters.clone().unwrap_or_else(|| json!({})),
        );
        for (name, is_so) in [
            ("requires_approval", tool.requires_approval),
            ("idempotent", tool.idempotent),
            ("repeatable", tool.repeatable),
        ] {
            said.maybe(name, is_so.then_some(true));
        }
        said.maybe("timeout_ms", tool.timeout.map(millis));
        Some(Value::Object(said.0))
    });
    tools.collect()
}

fn settings(settings: &GenerationSettings) -> Value {
    let mut said = Members::default();
    said.maybe("temperature", settings.temperature);
    said.maybe("max_output_tokens", settings.max_output_tokens);
    if let ResponseFormat::Schema {
        name,
        schema,
        strict,
    } = &settings.response_format
    {
        said.put(
            "response_format",
            json!({"name": name, "schema": schema, "strict": strict}),
        );
    }
    if !settings.context.is_empty() {
        said.put("context", json!(settings.context));
    }
    if !settings.extra.is_empty() {
        said.put("extra", settings.extra.clone());
    }
    Value::Object(said.0)
}

fn limits(config: &RunConfig) -> Value {
    let limits = &config.limits;
    let mut said = Members::default();
    said.put("max_tool_rounds", limits.max_tool_rounds);
    said.put("continue_after_tools", limits.continue_after_tools);
    said.put("max_parallel_tools", limits.max_parallel_tools);
    said.maybe("max_tool_calls", limits.max_tool_calls);
    said.maybe("max_tokens", limits.max_tokens);
    #[allow(clippy::cast_precision_loss, reason = "a budget")]
    said.maybe(
        "max_cost",
        limits.max_cost.map(|cost| cost.nanos() as f64 / 1e9),
    );
    said.maybe("max_duration_ms", limits.max_duration.map(millis));
    said.put(
        "repeats",
        match limits.repeats {
            None => json!({"tell_after": null, "stop_after": null}),
            Some(RepeatLimit {
                tell_after,
                stop_after,
                ..
            }) => json!({"tell_after": tell_after, "stop_after": stop_after}),
        },
    );
    said.put("at_limit", name(&limits.at_limit));
    said.put("max_answer_bytes", limits.answer.bytes);
    said.put("max_answer_calls", limits.answer.calls);
    Value::Object(said.0)
}

fn retry(config: &RunConfig) -> Value {
    let retry = &config.retry;
    let mut said = json!({
        "attempts": retry.attempts,
        "first_delay_ms": millis(retry.first_delay),
        "max_delay_ms": millis(retry.max_delay),
        "max_retry_after_ms": millis(retry.max_retry_after),
        "jitter": retry.jitter,
        "seed": retry.seed,
    });
    let rows = retry.by_kind.iter().map(|row| {
        let mut said = Members::default();
        said.put("kind", outputs::name(&row.kind));
        said.maybe("attempts", row.attempts);
        said.maybe("first_delay_ms", row.first_delay.map(millis));
        Value::Object(said.0)
    });
    if !retry.by_kind.is_empty() {
        said["by_kind"] = rows.collect();
    }
    if retry.accept_empty {
        said["accept_empty"] = true.into();
    }
    said
}

fn timeouts(config: &RunConfig) -> Value {
    let timeouts = &config.timeouts;
    json!({
        "silence_ms": timeouts.silence.map(millis),
        "tool_ms": timeouts.tool.map(millis),
        "turn_ms": timeouts.turn.map(millis),
        "approval_ms": timeouts.approval.map(millis),
        "deferred_ms": timeouts.deferred.map(millis),
        "credentials_ms": timeouts.credentials.map(millis),
        "closing_ms": timeouts.closing.map(millis),
    })
}

fn device(config: &RunConfig) -> Value {
    let device = &config.device;
    json!({
        "background": name(&device.background),
        "offline_ms": match device.offline {
            OfflinePolicy::Wait { up_to } => Some(millis(up_to)),
            _ => None,
        },
        "network_change": name(&device.network_change),
        "killed": name(&device.killed),
    })
}

fn text(options: TextOptions) -> Value {
    json!({"break_after_tools": options.break_after_tools, "drop_blank": options.drop_blank})
}
