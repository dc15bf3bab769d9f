//! An answer without text, call or media, and what the policy makes of it.

use crate::world::{Reply, ToolReply, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::provider;
use stepwell_core::run::{ErrorKind, Incomplete, Outcome, Refusal, Retry, RunConfig, RunEvent};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{call, text};

const SSE: &str = "text/event-stream";

/// What each provider sends for an answer with nothing in it, and for one of reasoning alone.
fn empty_bodies() -> Vec<(&'static str, &'static str, String)> {
    let sse = |provider, frames: &[&str]| {
        let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
        (provider, SSE, frames.collect::<String>())
    };
    let created =
        r#"{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}"#;
    vec![
        sse(
            "openai-compatible",
            &[
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        ),
        sse(
            "openai-compatible",
            &[
                r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":" \n"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        ),
        sse(
            "openai-responses",
            &[
                created,
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#,
            ],
        ),
        sse(
            "openai-responses",
            &[
                created,
                r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[],"encrypted_content":"e"}}"#,
                r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#,
            ],
        ),
        sse(
            "anthropic",
            &[
                r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        ),
        sse(
            "gemini",
            &[
                r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":100}}"#,
            ],
        ),
        sse(
            "mistral",
            &[
                r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        ),
        sse(
            "cohere",
            &[
                r#"{"type":"message-start","id":"m","delta":{"message":{"role":"assistant","content":[]}}}"#,
                r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
            ],
        ),
        (
            "ollama",
            "application/x-ndjson",
            "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n".to_owned(),
        ),
    ]
}

fn world(provider: &str, set: impl FnOnce(&mut RunConfig)) -> World {
    let (name, api) = match provider {
        "openai-responses" => ("openai", Some("responses")),
        other => (other, None),
    };
    let provider = provider::find(name).expect("a provider of the table");
    let endpoint = provider.endpoint(api, "a-model", Some("http://localhost"), Some("k".into()));
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint = endpoint.expect("nothing is missing");
        set(config);
    })
}

const EMPTY: Outcome = Outcome::Incomplete {
    reason: Incomplete::Empty,
};

/// Lets the model be asked this often for an answer that is not empty.
fn asked(config: &mut RunConfig, attempts: u32) {
    let row = Retry::after(ErrorKind::OutputInvalid).attempts(attempts);
    config.retry = config.retry.clone().with(row);
}

/// A request that the provider refuses for now.
fn failing() -> Reply {
    Reply::Refused(Refusal {
        status: 503,
        retry_after: None,
        body: Vec::new(),
    })
}

fn nothing() -> Reply {
    Reply::Complete(Vec::new())
}

#[test]
fn an_empty_answer_is_no_success_in_any_dialect() {
    for (provider, media_type, body) in empty_bodies() {
        let world = world(provider, |config| asked(config, 1))
            .reply(Reply::Body(Some(media_type), body.clone().into_bytes()))
            .turn();
        assert_eq!(*world.outcome(), EMPTY, "{provider}: {body}");
        assert_eq!(world.seen.requests().len(), 1, "{provider}");
        let problem = world.outcome().problem().expect("it is no success");
        assert_eq!(problem.kind, ErrorKind::OutputInvalid);
        world.assert_valid_history();
    }
}

#[test]
fn accepts_an_empty_answer_if_the_app_says_so() {
    for (provider, media_type, body) in empty_bodies() {
        let world = world(provider, |config| {
            config.retry.accept_empty = true;
        })
        .reply(Reply::Body(Some(media_type), body.into_bytes()))
        .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{provider}");
        assert_eq!(world.seen.requests().len(), 1, "{provider}");
    }
}

#[test]
fn asks_once_more_with_a_note_that_no_history_keeps() {
    for (provider, media_type, body) in empty_bodies() {
        let empty = || Reply::Body(Some(media_type), body.clone().into_bytes());
        let world = world(provider, |config| {
            asked(config, 2);
        })
        .reply(empty())
        .reply(empty())
        .turn();
        assert_eq!(*world.outcome(), EMPTY, "{provider}: {body}");
        let requests = world.seen.requests();
        assert_eq!(requests.len(), 2, "{provider}: never a third time");
        let carries_note = |at: usize| requests[at].to_string().contains("was empty");
        assert!(!carries_note(0) && carries_note(1), "{provider}");
        let messages = format!("{:?}", world.machine.transcript().messages());
        assert!(!messages.contains("was empty"), "{messages}");
        world.assert_valid_history();
    }
}

#[test]
fn asking_once_more_may_help_and_leaves_the_note_behind() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        asked(config, 2);
        offer(config, Tool::new("clock", "The time."));
    })
    .tool("clock", |_| ToolReply::text("noon"))
    .reply(nothing())
    .streams([call("c", "clock", "{}")])
    .streams([text("It is noon.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    assert_eq!(requests.len(), 3);
    assert!(!requests[2].to_string().contains("was empty"));
}

/// Each of the hops that ask for one answer is a try of the same count, and the app sees each.
#[test]
fn hops_that_ask_again_share_the_attempts_of_one_answer() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("clock", "The time."));
    })
    .tool("clock", |_| ToolReply::text("noon"))
    .reply(nothing())
    .reply(nothing())
    .streams([call("c", "clock", "{}")])
    .reply(nothing())
    .reply(nothing())
    .reply(nothing())
    .turn();
    assert_eq!(*world.outcome(), EMPTY);
    assert_eq!(
        world.seen.requests().len(),
        6,
        "three times for each answer"
    );
    let tries = world.seen.events().filter_map(|event| match event {
        RunEvent::Retrying {
            kind,
            attempt,
            delay_ms,
            ..
        } => Some((*kind, *attempt, *delay_ms)),
        _ => None,
    });
    let kind = ErrorKind::OutputInvalid;
    assert!(tries.eq([(kind, 1, 0), (kind, 2, 0), (kind, 1, 0), (kind, 2, 0)]));
}

/// A request that failed is a try of the answer, too: all attempts together are bounded.
#[test]
fn empty_answers_and_refused_requests_are_counted_together() {
    let world = crate::world::with(Dialect::OpenAiChat, |_| {})
        .reply(failing())
        .reply(nothing())
        .reply(failing())
        .reply(nothing())
        .turn();
    assert_eq!(*world.outcome(), EMPTY);
    assert_eq!(world.seen.requests().len(), 4);
}

#[test]
fn does_not_ask_once_more_beyond_the_budget() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.limits.max_tokens = Some(0);
    })
    .reply(nothing())
    .turn();
    assert_eq!(*world.outcome(), EMPTY);
    assert_eq!(world.seen.requests().len(), 1);
}

/// An agent may have done its work by state, or by events of its own.
#[test]
fn an_agents_run_is_never_empty() {
    let world = crate::world::ag_ui().reply(nothing()).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_reason_of_the_providers_counts_before_emptiness() {
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let world = world("openai-compatible", |_| {})
        .reply(Reply::Body(Some(SSE), body.as_bytes().to_vec()))
        .turn();
    let reason = Incomplete::Length;
    assert_eq!(*world.outcome(), Outcome::Incomplete { reason });
}
