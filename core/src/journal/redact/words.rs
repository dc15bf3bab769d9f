//! The words that a redacted journal keeps. They are Stepwell's and the protocols': no list has a text that a user, a
//! model or an app wrote. What a list lacks is hidden.

use serde_json::Value;

/// The fields whose names stay: of the configuration, the history, the messages and the inputs.
const FIELDS: &str = "
    accept_empty activityType after after_answer after_text after_tool ag_ui answer answer_stored approval approve
    arguments ask at at_limit attempt attempts audio authorization authorize authorized background base_url
    before_request before_tool blocks body break_after_tools brought by_kind bytes cache cache_key cache_marks
    cache_prompt cachedInputTokens cacheWrite1hInputTokens cacheWriteInputTokens call call_id calls cancel
    cancel_call change_arguments change_request change_result choice choices choose_model closing compaction config
    connection_failed content content_type context context_guard context_not_trimmed context_trimmed
    continue_after_tools cost create_run credentials decided decision declined decoded_by_host deferred definition
    denied description device dialect documents drop_blank drop_results durability edited effect effort encoding
    encryptedValue ended endpoint Err error event extra extra_rules fail failed failure fallback first_delay
    forwardedProps fraction frames from function given go_on granted headers history hook hook_answered hooks hop
    id idempotent images index input inputTokens instructions interruptId is_before_1_0 is_error jitter keep
    keeps_unknown kept key key_header killed kind label
    limits line lost max max_answer_bytes max_answer_calls max_completion_tokens max_cost max_delay max_duration
    max_ms max_output_tokens max_parallel_tools max_retry_after max_tokens max_tool_calls max_tool_rounds media
    message messages metadata mimeType mode model model_chosen model_not_chosen model_resting models moments name
    named nanos network_change next_call no_developer_role no_format_with_tools no_stream_options not_authorized
    number offline Ok open opened options outcome output output_decoded output_refused outputTokens
    parallel_tool_calls parameters parent_run_id partial_arguments payload persist persist_failed persisted place
    provider question quirks reason reasoning reasoningTokens received refusal refusals refused repeatable repeats
    request requires_approval response_format response_id rest restarts result results_through resume resumption
    retries retry retry_after role run_created run_id run_ids run_not_created schema secs seed sequence settings
    shown silence snapshot source start state status steer stop_after stop_reason strict subagentRunId summary
    taken_after tell_after tells_moves temperature text think_tags thread_id through timeout timeouts tokens tool
    tool_asks tool_call_id tool_choice tool_deferred tool_finished tool_names tool_partial_result tool_progress
    toolCallId toolCalls tools totalTokens trim turn type until up_to usage user user_answered value verification
    wait warn_at ways whole_history window written_at
";

/// The fields with the kind of something, of which the values in [`WORDS`] stay.
const TAGS: &str = "
    activityType after answer at_limit background cache cache_prompt choice config credentials decision dialect
    durability effort encoding extra_rules killed kind mode moments network_change offline outcome reasoning
    refusals response_format resumption role run_ids status stop_reason think_tags tool_choice type verification
    ways
";

/// The values that stay in the fields of [`TAGS`].
const WORDS: &str = "
    accept activity after_answer after_tool ag-ui anthropic application/json application/vnd.ag-ui.event+proto
    application/vnd.amazon.eventstream application/x-ndjson assistant at_start audio audio/mpeg audio/wav
    authentication auto background bedrock-converse before_request before_tool blocks busy cancel cancelled
    cohere complete connection content contentFilter contextTooLong continue data denied derived details
    developer document end_only error fail file five-minutes fixed function gemini gemini-interactions go_on
    granted high host image image/gif image/jpeg image/png image/webp in_order interrupt invalidRequest
    invalidResponse json json-first keep last-event-id length limit_reached limitReached low medium minimal
    mistral misuse native never none notFound ollama one-hour openai-chat openai-responses options
    outcome_unknown outputInvalid overloaded panicked pause_clocks permission prompt protobuf-first protocol
    provider quota rateLimit reasoning reasoning_effort refused rejected reopen repeated replay required
    resolved retention safety_identifier send serverError snapshot stop store success sum_up system text
    text/event-stream text/html text/plain timed_out timeout tool tool_calls toolFailed trim truncated url user
    video video/mp4 warn
";

/// The fields with ids.
const IDS: &str = "
    by_provider call_id id interruptId keep kept parent_run_id response_id results_through run_id subagentRunId thread_id
    through tool_call_id toolCallId turn undone_through
";

/// The fields with values of the app, the user or the agent, of which not even the structure is known.
const FREE_FORM: &str = "
    arguments choices extra forwardedProps metadata parameters payload schema state value
";

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Returns whether the name of a field stays.
pub(super) fn is_field(name: &str) -> bool {
    has(FIELDS, name)
}

/// Returns whether the field says of which kind something is.
pub(super) fn is_tag(field: &str) -> bool {
    has(TAGS, field)
}

/// Returns whether a value stays in the field of a kind.
pub(super) fn is_word(value: &str) -> bool {
    has(WORDS, value)
}

/// Returns whether the field has an id, or several.
pub(super) fn is_id(field: &str) -> bool {
    has(IDS, field)
}

/// Returns whether the value of the field has a structure of its own.
pub(super) fn is_free_form(field: &str, value: &Value) -> bool {
    match field {
        // An activity has an object, the other messages parts.
        "content" => value.is_object(),
        "Ok" => !value.is_array(),
        // The result of a tool or of a hook's place stays; the result of an agent's run does not.
        "result" => !["Ok", "Err", "hop"]
            .iter()
            .any(|key| value.get(key).is_some()),
        _ => has(FREE_FORM, field),
    }
}
