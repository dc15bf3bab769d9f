//! The spans of a turn, its hops and its tools, with the field names of OpenTelemetry's GenAI conventions
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>). None holds what was said.

use stepwell_core::dialect::Endpoint;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::ToolInvocation;
use tracing::{Span, field, info_span};

pub(crate) fn turn(endpoint: &Endpoint, thread_id: &str, run_id: &str) -> Span {
    info_span!(
        "invoke_agent",
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.provider.name" = %endpoint.provider,
        "gen_ai.request.model" = %endpoint.model,
        "gen_ai.conversation.id" = thread_id,
        "stepwell.run.id" = run_id,
        "stepwell.outcome" = field::Empty,
        "gen_ai.usage.input_tokens" = field::Empty,
        "gen_ai.usage.output_tokens" = field::Empty,
    )
}

pub(crate) fn hop(endpoint: &Endpoint, hop: u32, attempt: u32) -> Span {
    info_span!(
        "chat",
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = %endpoint.provider,
        "gen_ai.request.model" = %endpoint.model,
        "stepwell.hop" = hop,
        "stepwell.attempt" = attempt,
    )
}

pub(crate) fn tool(invocation: &ToolInvocation) -> Span {
    info_span!(
        "execute_tool",
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = %invocation.name,
        "gen_ai.tool.call.id" = %invocation.tool_call_id,
        "gen_ai.tool.type" = "function",
    )
}

pub(crate) fn record_usage(span: &Span, usage: &TokenUsage) {
    if let Some(tokens) = usage.input_tokens {
        span.record("gen_ai.usage.input_tokens", tokens);
    }
    if let Some(tokens) = usage.output_tokens {
        span.record("gen_ai.usage.output_tokens", tokens);
    }
}
