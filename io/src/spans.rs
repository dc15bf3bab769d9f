//! The spans of a turn, its hops and its tools, with the field names of OpenTelemetry's GenAI conventions
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>). None holds what was said.

use stepwell_core::dialect::Endpoint;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Failure, Outcome, RunMachine, ToolInvocation};
use tracing::{Span, field, info_span};

/// The provider's name as the conventions have it.
fn provider_name(endpoint: &Endpoint) -> &str {
    match &*endpoint.provider {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        other => other,
    }
}

pub(crate) fn turn(endpoint: &Endpoint, thread_id: &str, run_id: &str) -> Span {
    info_span!(
        "invoke_agent",
        "otel.kind" = "internal",
        "otel.status_code" = field::Empty,
        "error.type" = field::Empty,
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.provider.name" = provider_name(endpoint),
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
        "otel.name" = format!("chat {}", endpoint.model),
        "otel.kind" = "client",
        "otel.status_code" = field::Empty,
        "error.type" = field::Empty,
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = provider_name(endpoint),
        "gen_ai.request.model" = %endpoint.model,
        // Signed, as OpenTelemetry's integers are: an unsigned one would become a text.
        "stepwell.hop" = i64::from(hop),
        "stepwell.attempt" = i64::from(attempt),
        "gen_ai.usage.input_tokens" = field::Empty,
        "gen_ai.usage.output_tokens" = field::Empty,
        "gen_ai.response.finish_reasons" = field::Empty,
    )
}

pub(crate) fn tool(invocation: &ToolInvocation) -> Span {
    info_span!(
        "execute_tool",
        "otel.name" = format!("execute_tool {}", invocation.name),
        "otel.kind" = "internal",
        "otel.status_code" = field::Empty,
        "error.type" = field::Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = %invocation.name,
        "gen_ai.tool.call.id" = %invocation.tool_call_id,
        "gen_ai.tool.type" = "function",
    )
}

/// What the span is of went wrong.
pub(crate) fn record_error(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}

pub(crate) fn record_usage(span: &Span, usage: &TokenUsage) {
    let signed = |tokens| i64::try_from(tokens).unwrap_or(i64::MAX);
    if let Some(tokens) = usage.input_tokens {
        span.record("gen_ai.usage.input_tokens", signed(tokens));
    }
    if let Some(tokens) = usage.output_tokens {
        span.record("gen_ai.usage.output_tokens", signed(tokens));
    }
}

/// A failure in one word, of which there are few.
pub(crate) fn failure_name(failure: &Failure) -> &'static str {
    match failure {
        Failure::Api { .. } => "api",
        Failure::Connection { .. } => "connection",
        Failure::UnexpectedBody { .. } => "unexpected_body",
        Failure::Stream { .. } => "stream",
        Failure::Reported { .. } => "reported",
        Failure::TimedOut { .. } => "timeout",
        Failure::OutputInvalid { .. } => "output_invalid",
        _ => "_OTHER",
    }
}

/// The span of a stream that is open, and what it is to say of it in the end.
pub(crate) struct HopSpan {
    span: Span,
    hop: u32,
    /// What the turn had cost before.
    before: TokenUsage,
    finish_reason: Option<String>,
}

impl HopSpan {
    pub(crate) fn new(span: Span, machine: &RunMachine) -> Self {
        Self {
            span,
            hop: machine.hop(),
            before: machine.usage(),
            finish_reason: None,
        }
    }

    /// Takes note of why the model stopped: the machine forgets it with the next hop.
    pub(crate) fn look(&mut self, machine: &RunMachine) {
        if machine.hop() == self.hop {
            let summary = machine.conversation().summary();
            self.finish_reason.clone_from(&summary.stop_reason);
        }
    }

    /// The stream is over.
    pub(crate) fn close(mut self, machine: &RunMachine) {
        self.look(machine);
        let now = machine.usage();
        let own = |now: Option<u64>, before: Option<u64>| {
            let own = now?.saturating_sub(before.unwrap_or(0));
            (own > 0).then_some(own)
        };
        let usage = TokenUsage {
            input_tokens: own(now.input_tokens, self.before.input_tokens),
            output_tokens: own(now.output_tokens, self.before.output_tokens),
            ..TokenUsage::default()
        };
        record_usage(&self.span, &usage);
        if let Some(Outcome::Failed { failure }) = machine.outcome() {
            record_error(&self.span, failure_name(failure));
        }
        if let Some(reason) = &self.finish_reason {
            // A list by convention: one entry a choice, and there is one.
            let reasons = field::debug([reason]);
            self.span.record("gen_ai.response.finish_reasons", reasons);
        }
    }
}
