//! The names of OpenTelemetry's conventions for generative AI, in one place. They follow the repository
//! <https://github.com/open-telemetry/semantic-conventions-genai>, whose schema is
//! <https://opentelemetry.io/schemas/gen-ai/1.42.0>, as it stood in November 2026: it has no release yet, and every name in it
//! is in development. Python's tests compare them with OpenTelemetry's own package.

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(super) const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// All tokens of the request, cached ones with them.
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// All tokens of the answer, those of reasoning with them.
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";

// The content of the conversation: only where the app has asked for it.
pub(super) const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";

// OpenTelemetry's own conventions.
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const SERVER_ADDRESS: &str = "server.address";
pub(super) const SERVER_PORT: &str = "server.port";

// The fields with which subscribers rename a span; see `tracing-opentelemetry`.
pub(super) const NAME: &str = "otel.name";
pub(super) const KIND: &str = "otel.kind";
pub(super) const STATUS: &str = "otel.status_code";

// The fields for which the conventions have no name.
pub(super) const RUN: &str = "stepwell.run.id";
pub(super) const OUTCOME: &str = "stepwell.outcome";
pub(super) const HOP: &str = "stepwell.hop";
pub(super) const ATTEMPT: &str = "stepwell.attempt";
/// In US dollars.
pub(super) const COST: &str = "stepwell.usage.cost";
