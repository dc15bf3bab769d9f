//! The spans of a turn, its hops and its tools, after OpenTelemetry's conventions for generative AI. They hold the
//! content of the conversation only if the app asks for it.

mod content;
mod names;

use self::names as name;
use crate::app::setup::Setup;
use http::Uri;
use http::uri::Scheme;
use stepwell_core::dialect::Endpoint;
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::{Failure, Outcome, RunMachine, ToolInvocation};
use stepwell_core::tool::ToolResult;
use tokio::time::Instant;
use tracing::{Span, field, info_span};

/// Returns the provider's name in the conventions.
fn provider_name(endpoint: &Endpoint) -> &str {
    match &*endpoint.provider {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "mistral" => "mistral_ai",
        other => other,
    }
}

pub(crate) fn turn(endpoint: &Endpoint, thread_id: &str, run_id: &str) -> Span {
    info_span!(
        "invoke_agent",
        { name::KIND } = "internal",
        { name::STATUS } = field::Empty,
        { name::ERROR_TYPE } = field::Empty,
        { name::OPERATION } = "invoke_agent",
        { name::PROVIDER } = provider_name(endpoint),
        { name::REQUEST_MODEL } = %endpoint.model,
        { name::CONVERSATION } = thread_id,
        { name::RUN } = run_id,
        { name::OUTCOME } = field::Empty,
        { name::INPUT_TOKENS } = field::Empty,
        { name::OUTPUT_TOKENS } = field::Empty,
        { name::CACHE_READ_TOKENS } = field::Empty,
        { name::CACHE_CREATION_TOKENS } = field::Empty,
        { name::REASONING_TOKENS } = field::Empty,
        { name::COST } = field::Empty,
    )
}

pub(crate) fn hop(setup: &Setup, machine: &RunMachine, hop: u32, attempt: u32) -> Span {
    // The model that is asked may be another one than the agent's own.
    let config = machine.config().unwrap_or(&setup.config);
    let endpoint = &config.endpoint;
    let span = info_span!(
        "chat",
        { name::NAME } = format!("chat {}", endpoint.model).trim_end(),
        { name::KIND } = "client",
        { name::STATUS } = field::Empty,
        { name::ERROR_TYPE } = field::Empty,
        { name::OPERATION } = "chat",
        { name::PROVIDER } = provider_name(endpoint),
        { name::REQUEST_MODEL } = %endpoint.model,
        { name::REQUEST_STREAM } = true,
        { name::REQUEST_MAX_TOKENS } = field::Empty,
        { name::REQUEST_TEMPERATURE } = field::Empty,
        { name::CONVERSATION } = field::Empty,
        { name::SERVER_ADDRESS } = field::Empty,
        { name::SERVER_PORT } = field::Empty,
        // OpenTelemetry's integers are signed: an unsigned integer would become a text.
        { name::HOP } = i64::from(hop),
        { name::ATTEMPT } = i64::from(attempt),
        { name::RESPONSE_MODEL } = field::Empty,
        { name::RESPONSE_ID } = field::Empty,
        { name::TIME_TO_FIRST_CHUNK } = field::Empty,
        { name::FINISH_REASONS } = field::Empty,
        { name::INPUT_TOKENS } = field::Empty,
        { name::OUTPUT_TOKENS } = field::Empty,
        { name::CACHE_READ_TOKENS } = field::Empty,
        { name::CACHE_CREATION_TOKENS } = field::Empty,
        { name::REASONING_TOKENS } = field::Empty,
        { name::COST } = field::Empty,
        { name::SYSTEM_INSTRUCTIONS } = field::Empty,
        { name::INPUT_MESSAGES } = field::Empty,
        { name::OUTPUT_MESSAGES } = field::Empty,
    );
    record_request(&span, setup, machine);
    span
}

fn record_request(span: &Span, setup: &Setup, machine: &RunMachine) {
    let config = machine.config().unwrap_or(&setup.config);
    let endpoint = &config.endpoint;
    if let Some(thread) = machine.thread_id() {
        span.record(name::CONVERSATION, field::display(thread));
    }
    let settings = &config.settings;
    if let Some(most) = settings.max_output_tokens {
        span.record(name::REQUEST_MAX_TOKENS, i64::from(most));
    }
    if let Some(temperature) = settings.temperature {
        span.record(name::REQUEST_TEMPERATURE, temperature);
    }
    if let Ok(uri) = endpoint.base_url.parse::<Uri>()
        && let Some(host) = uri.host()
    {
        let is_plain = uri.scheme() == Some(&Scheme::HTTP);
        let usual = if is_plain { 80 } else { 443 };
        span.record(name::SERVER_ADDRESS, host);
        let port = uri.port_u16().unwrap_or(usual);
        span.record(name::SERVER_PORT, i64::from(port));
    }
    if setup.traces_content && !span.is_disabled() {
        if let Some(instructions) = &setup.config.instructions {
            let said = content::instructions(instructions);
            span.record(name::SYSTEM_INSTRUCTIONS, said);
        }
        let said = content::messages(machine.transcript().messages(), None);
        span.record(name::INPUT_MESSAGES, said);
    }
}

pub(crate) fn tool(setup: &Setup, invocation: &ToolInvocation) -> Span {
    let span = info_span!(
        "execute_tool",
        { name::NAME } = format!("execute_tool {}", invocation.name),
        { name::KIND } = "internal",
        { name::STATUS } = field::Empty,
        { name::ERROR_TYPE } = field::Empty,
        { name::OPERATION } = "execute_tool",
        { name::TOOL_NAME } = %invocation.name,
        { name::TOOL_CALL_ID } = %invocation.tool_call_id,
        { name::TOOL_TYPE } = "function",
        { name::TOOL_ARGUMENTS } = field::Empty,
        { name::TOOL_RESULT } = field::Empty,
    );
    if setup.traces_content {
        let given = invocation.arguments.value.to_string();
        span.record(name::TOOL_ARGUMENTS, given);
    }
    span
}

/// Records the result of the current span's tool, if the app wants content.
pub(crate) fn record_result(setup: &Setup, result: &ToolResult) {
    let span = Span::current();
    if setup.traces_content && !span.is_disabled() {
        span.record(name::TOOL_RESULT, content::result(result));
    }
}

/// Records that the first chunk of the current span's answer has arrived.
pub(crate) fn record_first_chunk(asked: Instant) {
    let took = asked.elapsed().as_secs_f64();
    Span::current().record(name::TIME_TO_FIRST_CHUNK, took);
}

/// Records an error.
pub(crate) fn record_error(span: &Span, kind: &str) {
    span.record(name::STATUS, "ERROR");
    span.record(name::ERROR_TYPE, kind);
}

/// Records the end of the current span's turn.
pub(crate) fn record_end(endpoint: &Endpoint, outcome: &Outcome, usage: &TokenUsage) {
    let span = Span::current();
    span.record(name::OUTCOME, outcome_name(outcome));
    match outcome {
        Outcome::Failed { failure } => record_error(&span, failure_name(failure)),
        Outcome::Truncated => record_error(&span, "truncated"),
        _ => {}
    }
    record_usage(&span, endpoint, usage);
}

fn record_usage(span: &Span, endpoint: &Endpoint, usage: &TokenUsage) {
    let dialect = endpoint.dialect;
    for (name, tokens) in [
        (name::INPUT_TOKENS, dialect.request_tokens(usage)),
        (name::OUTPUT_TOKENS, dialect.answer_tokens(usage)),
        (name::CACHE_READ_TOKENS, usage.cached_input_tokens),
        (name::CACHE_CREATION_TOKENS, usage.cache_write_input_tokens),
        (name::REASONING_TOKENS, usage.reasoning_tokens),
    ] {
        if let Some(tokens) = tokens {
            span.record(name, i64::try_from(tokens).unwrap_or(i64::MAX));
        }
    }
    if let Some(cost) = usage.cost {
        span.record(name::COST, cost.dollars());
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Incomplete { reason } => reason.name(),
        Outcome::LimitReached { limit } => limit.name(),
        Outcome::Cancelled => "cancelled",
        Outcome::Truncated => "truncated",
        _ => "failed",
    }
}

/// Returns the kind of a failure, of which there are few.
fn failure_name(failure: &Failure) -> &'static str {
    match failure {
        Failure::Api { .. } => "api",
        Failure::Connection { .. } => "connection",
        Failure::UnexpectedBody { .. } => "unexpected_body",
        Failure::Stream { .. } => "stream",
        Failure::Reported { .. } => "reported",
        Failure::TimedOut { .. } => "timeout",
        Failure::OutputInvalid { .. } => "output_invalid",
        Failure::ToolFailed { .. } => "tool_failed",
        Failure::Misuse { .. } => "misuse",
        _ => "_OTHER",
    }
}

/// The span of an open stream, and what it records at the stream's end.
pub(crate) struct HopSpan {
    span: Span,
    hop: u32,
    /// The number of messages before the stream.
    messages: usize,
    /// The turn's usage before the stream.
    before: TokenUsage,
    finish_reason: Option<String>,
    model: Option<String>,
    id: Option<String>,
}

impl HopSpan {
    pub(crate) fn new(span: Span, machine: &RunMachine) -> Self {
        Self {
            span,
            hop: machine.hop(),
            messages: machine.transcript().messages().len(),
            before: machine.usage(),
            finish_reason: None,
            model: None,
            id: None,
        }
    }

    /// Keeps what the machine forgets with its next hop.
    pub(crate) fn record_answer(&mut self, machine: &RunMachine) {
        if machine.hop() == self.hop {
            self.id = machine.response_id().map(str::to_owned).or(self.id.take());
            let summary = machine.transcript().summary();
            self.finish_reason.clone_from(&summary.stop_reason);
            let model = summary.usage.first().and_then(|usage| usage.model.clone());
            self.model = model;
        }
    }

    /// Records the end of the stream.
    pub(crate) fn close(mut self, setup: &Setup, machine: &RunMachine) {
        self.record_answer(machine);
        let (span, before, now) = (&self.span, &self.before, machine.usage());
        let own = |now: Option<u64>, before: Option<u64>| {
            let own = now?.saturating_sub(before.unwrap_or(0));
            (own > 0).then_some(own)
        };
        let usage = TokenUsage {
            input_tokens: own(now.input_tokens, before.input_tokens),
            output_tokens: own(now.output_tokens, before.output_tokens),
            reasoning_tokens: own(now.reasoning_tokens, before.reasoning_tokens),
            cached_input_tokens: own(now.cached_input_tokens, before.cached_input_tokens),
            cache_write_input_tokens: own(
                now.cache_write_input_tokens,
                before.cache_write_input_tokens,
            ),
            cost: now
                .cost
                .map(|cost| cost.saturating_sub(before.cost.unwrap_or_default())),
            ..TokenUsage::default()
        };
        let config = machine.config().unwrap_or(&setup.config);
        record_usage(span, &config.endpoint, &usage);
        if let Some(id) = &self.id {
            span.record(name::RESPONSE_ID, id);
        }
        if let Some(model) = &self.model {
            span.record(name::RESPONSE_MODEL, model);
        }
        if let Some(Outcome::Failed { failure }) = machine.outcome() {
            record_error(span, failure_name(failure));
        }
        if let Some(reason) = &self.finish_reason {
            // The conventions want a list with an entry for each choice. There is one choice.
            span.record(name::FINISH_REASONS, field::debug([reason]));
        }
        if setup.traces_content && !span.is_disabled() {
            let messages = machine.transcript().messages().get(self.messages..);
            let said = messages
                .unwrap_or_default()
                .iter()
                .filter(|message| matches!(message, Message::Assistant(_) | Message::Reasoning(_)));
            let said = content::messages(said, self.finish_reason.as_deref());
            span.record(name::OUTPUT_MESSAGES, said);
        }
    }
}
