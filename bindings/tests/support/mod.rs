//! Configurations, written out as every language's defaults are.

use std::collections::HashMap;
use stepwell_ffi::{
    AgUiOptions, ContextGuard, DevicePolicy, GenerationSettings, Limits, RepeatLimit, RetryPolicy,
    RunConfig, TextOptions, Timeouts, ToolDefinition,
};

pub(crate) fn config(base_url: &str) -> RunConfig {
    RunConfig {
        provider: "openai-compatible".into(),
        model: "mock".into(),
        api: None,
        base_url: Some(base_url.into()),
        key: None,
        headers: HashMap::new(),
        instructions: None,
        tools: Vec::new(),
        settings: GenerationSettings::default(),
        limits: Limits {
            max_tool_rounds: 10,
            continue_after_tools: true,
            max_tool_calls: None,
            max_tokens: None,
            max_duration_ms: None,
            max_parallel_tools: 8,
            repeats: RepeatLimit {
                tell_after: None,
                stop_after: None,
            },
            at_limit: None,
            max_answer_bytes: 1 << 20,
            max_answer_calls: 100,
            max_line_bytes: 1 << 20,
            max_event_bytes: 1 << 20,
        },
        retry: RetryPolicy {
            attempts: 1,
            first_delay_ms: 0,
            max_delay_ms: 0,
            max_retry_after_ms: 0,
            jitter: 0.0,
            seed: 0,
        },
        timeouts: Timeouts {
            silence_ms: None,
            tool_ms: None,
            turn_ms: None,
            approval_ms: None,
            deferred_ms: None,
            closing_ms: None,
        },
        partial_arguments: false,
        device: DevicePolicy {
            background: None,
            offline_ms: Some(300_000),
            network_change: None,
            killed: None,
        },
        resumption: None,
        providers_json: None,
        text: TextOptions {
            break_after_tools: true,
            drop_blank: false,
        },
        context_guard: ContextGuard {
            window: None,
            warn_at: Some(0.8),
            at_limit: None,
        },
        ag_ui: AgUiOptions::default(),
        run_ids: None,
        persist_attempts: None,
    }
}

pub(crate) fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: String::new(),
        parameters_json: None,
        requires_approval: false,
        idempotent: false,
        repeatable: false,
        timeout_ms: None,
    }
}
