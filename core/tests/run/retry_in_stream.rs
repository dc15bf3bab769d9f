//! A stream that fails before it has brought anything is asked for again, as a request is that was refused with the status
//! that the failure stands for.

use crate::world::{Ending, Reply, World};
use std::time::Duration;
use stepwell_core::dialect::{ApiErrorKind, Dialect};
use stepwell_core::event::{Event, Message};
use stepwell_core::provider;
use stepwell_core::run::{Failure, Outcome, RunEvent};

const AG_UI_BEGIN: &str = r#"data: {"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}"#;

fn ag_ui(events: &[&str]) -> String {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    format!("{AG_UI_BEGIN}\n\n{}", events.collect::<String>())
}

/// What a provider sends before the first piece of its answer, and a whole answer.
struct Wire {
    provider: &'static str,
    media_type: &'static str,
    begin: String,
    text: String,
    rest: String,
}

const SSE: &str = "text/event-stream";

fn wires() -> Vec<Wire> {
    let sse = |provider, begin: &str, text: &str, rest: &str| Wire {
        provider,
        media_type: SSE,
        begin: begin.to_owned(),
        text: text.to_owned(),
        rest: rest.to_owned(),
    };
    let chat = |provider| {
        sse(
            provider,
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":null}]}\n\n",
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        )
    };
    vec![
        chat("openai-compatible"),
        chat("openrouter"),
        chat("mistral"),
        sse(
            "openai-responses",
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n\
             data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"in_progress\",\"content\":[]}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Yes.\"}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[]}}\n\n",
        ),
        sse(
            "anthropic",
            "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"stop_reason\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n\
             data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\n",
            "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n",
        ),
        sse(
            "gemini",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]}}],\"usageMetadata\":{\"promptTokenCount\":5}}\n\n",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Yes.\"}]}}]}\n\n",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
        sse(
            "cohere",
            "data: {\"type\":\"message-start\",\"id\":\"m\",\"delta\":{\"message\":{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[]}}}\n\n\
             data: {\"type\":\"content-start\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"type\":\"text\",\"text\":\"\"}}}}\n\n",
            "data: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"Yes.\"}}}}\n\n",
            "data: {\"type\":\"content-end\",\"index\":0}\n\n\
             data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n",
        ),
        Wire {
            provider: "ollama",
            media_type: "application/x-ndjson",
            begin: "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n".to_owned(),
            text: "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Yes.\"},\"done\":false}\n".to_owned(),
            rest: "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n".to_owned(),
        },
        sse(
            "ag-ui",
            &format!("{AG_UI_BEGIN}\n\n"),
            "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"role\":\"assistant\"}\n\n\
             data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"Yes.\"}\n\n",
            "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n\n\
             data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"thread-1\",\"runId\":\"run-1\"}\n\n",
        ),
    ]
}

/// An overload in each provider's own words.
fn overload(provider: &str) -> &'static str {
    match provider {
        "anthropic" => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        }
        "openai-responses" => {
            "data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"Overloaded\"},\"output\":[]}}\n\n"
        }
        "gemini" => {
            "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n"
        }
        "ollama" => "{\"error\":\"server overloaded\"}\n",
        "ag-ui" => {
            "data: {\"type\":\"RUN_ERROR\",\"message\":\"the model is overloaded\",\"code\":\"overloaded\"}\n\n"
        }
        _ => {
            "data: {\"id\":\"gen-1\",\"choices\":[],\"error\":{\"code\":502,\"message\":\"Provider returned error\"}}\n\n"
        }
    }
}

fn world(provider: &str) -> World {
    let (provider, api) = match provider {
        "openai-responses" => ("openai", Some("responses")),
        other => (other, None),
    };
    let provider = provider::find(provider).expect("a provider of the table");
    let endpoint = provider.endpoint(api, "a-model", Some("http://localhost"), Some("k".into()));
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint = endpoint.expect("nothing is missing");
    })
}

fn body(wire: &Wire, pieces: &[&str]) -> Reply {
    Reply::Body(Some(wire.media_type), pieces.concat().into_bytes())
}

fn whole(wire: &Wire) -> Reply {
    body(wire, &[&wire.begin, &wire.text, &wire.rest])
}

fn retries(world: &World) -> Vec<(u32, u64)> {
    let tries = world.seen.events().filter_map(|event| match event {
        RunEvent::Retrying {
            attempt, delay_ms, ..
        } => Some((*attempt, *delay_ms)),
        _ => None,
    });
    tries.collect()
}

#[test]
fn retries_an_error_in_the_stream_before_content() {
    for wire in wires() {
        let provider = wire.provider;
        for begin in ["", &wire.begin] {
            // An agent's stream begins with its run.
            if provider == "ag-ui" && begin.is_empty() {
                continue;
            }
            let world = world(provider)
                .reply(body(&wire, &[begin, overload(provider)]))
                .reply(whole(&wire))
                .turn();
            assert_eq!(*world.outcome(), Outcome::Success, "{provider}: {begin}");
            assert_eq!(world.machine.transcript().text(), "Yes.", "{provider}");
            assert_eq!(retries(&world), [(1, 100)], "{provider}");
            let requests = world.seen.requests();
            assert_eq!(requests.len(), 2, "{provider}");
            assert_eq!(requests[0], requests[1], "{provider}");
            world.assert_valid_history();
        }
    }
}

#[test]
fn retries_a_body_that_ends_before_content() {
    for wire in wires() {
        let provider = wire.provider;
        for begin in ["", &wire.begin] {
            let world = world(provider)
                .reply(body(&wire, &[begin]))
                .reply(whole(&wire))
                .turn();
            assert_eq!(*world.outcome(), Outcome::Success, "{provider}: {begin}");
            assert_eq!(world.machine.transcript().text(), "Yes.", "{provider}");
            assert_eq!(retries(&world), [(1, 100)], "{provider}");
        }
    }
}

#[test]
fn keeps_the_text_and_fails_after_content() {
    for wire in wires() {
        let provider = wire.provider;
        let world = world(provider)
            .reply(body(&wire, &[&wire.begin, &wire.text, overload(provider)]))
            .turn();
        let Outcome::Failed { failure } = world.outcome() else {
            panic!("{provider}: {:?}", world.outcome())
        };
        assert!(failure.is_transient(), "{provider}: {failure:?}");
        assert_eq!(world.machine.transcript().text(), "Yes.", "{provider}");
        assert_eq!(world.seen.requests().len(), 1, "{provider}");
    }
}

#[test]
fn waits_as_long_as_the_error_in_the_stream_says() {
    let failed = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n\
                  data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached. Please try again in 1.2s.\"},\"output\":[]}}\n\n";
    let wires = wires();
    let wire = wires
        .iter()
        .find(|wire| wire.provider == "openai-responses");
    let wire = wire.expect("it is in the table");
    let world = world(wire.provider)
        .reply(body(wire, &[failed]))
        .reply(whole(wire))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(retries(&world), [(1, 1_200)]);
}

#[test]
fn does_not_wait_longer_than_the_policy() {
    let words = r#"{"type":"RUN_ERROR","message":"Rate limit reached. Please try again in 1h.","code":"rate_limit_exceeded"}"#;
    let world = crate::world::ag_ui()
        .reply(Reply::Body(Some(SSE), ag_ui(&[words]).into_bytes()))
        .turn();
    let Outcome::Failed { failure } = world.outcome() else {
        panic!("{:?}", world.outcome())
    };
    assert_eq!(failure.kind(), Some(ApiErrorKind::RateLimit));
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn does_not_repeat_what_no_repeat_mends() {
    for words in [
        "the prompt is too long",
        "You exceeded your current quota",
        "blocked by the content filter",
    ] {
        let error = format!(r#"{{"type":"RUN_ERROR","message":"{words}"}}"#);
        let world = crate::world::ag_ui()
            .reply(Reply::Body(Some(SSE), ag_ui(&[&error]).into_bytes()))
            .turn();
        assert!(
            matches!(world.outcome(), Outcome::Failed { .. }),
            "{words}: {:?}",
            world.outcome()
        );
        assert_eq!(world.seen.requests().len(), 1, "{words}");
    }
}

#[test]
fn gives_up_after_the_last_attempt_with_the_last_failure() {
    for wire in wires() {
        let provider = wire.provider;
        let mut world = world(provider);
        world.fallback_reply = Some(body(&wire, &[&wire.begin, overload(provider)]));
        let world = world.turn();
        let failed = matches!(
            world.outcome(),
            Outcome::Failed {
                failure: Failure::Reported { .. }
            }
        );
        assert!(failed, "{provider}: {:?}", world.outcome());
        assert_eq!(world.seen.requests().len(), 4, "{provider}");
        assert_eq!(retries(&world), [(1, 100), (2, 200), (3, 400)]);
    }
}

/// What a try that failed said of its cost is not the answer's.
#[test]
fn counts_the_usage_of_the_answer_alone() {
    let wires = wires();
    let wire = wires.iter().find(|wire| wire.provider == "anthropic");
    let wire = wire.expect("it is in the table");
    let world = world(wire.provider)
        .reply(body(wire, &[&wire.begin, overload(wire.provider)]))
        .reply(whole(wire))
        .turn();
    let usage = &world.machine.transcript().summary().usage;
    assert_eq!(usage.len(), 1, "{usage:?}");
    assert_eq!(usage[0].input_tokens, Some(5), "{usage:?}");
}

/// An agent whose run has begun may be at work: a connection that breaks then is not opened again.
#[test]
fn does_not_repeat_an_agents_run_that_has_begun() {
    let begun = format!("{AG_UI_BEGIN}\n\n").into_bytes();
    let world = crate::world::ag_ui()
        .reply(Reply::Bytes(begun, Ending::Broken))
        .turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::Connection { .. }
        }
    ));
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn opens_a_connection_again_that_breaks_before_content() {
    for wire in wires() {
        let provider = wire.provider;
        if provider == "ag-ui" {
            continue;
        }
        let world = world(provider)
            .reply(Reply::Bytes(wire.begin.clone().into(), Ending::Broken))
            .reply(whole(&wire))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{provider}");
        assert_eq!(world.machine.transcript().text(), "Yes.", "{provider}");
        assert_eq!(world.seen.requests().len(), 2, "{provider}");
    }
}

/// An app shows that the model thinks: it must hear that this is over.
#[test]
fn ends_an_empty_reasoning_message_before_the_next_attempt() {
    let item = r#"{"id":"rs","type":"reasoning","summary":[]}"#;
    let first = format!(
        "data: {{\"type\":\"response.created\",\"response\":{{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}}}\n\n\
         data: {{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{item}}}\n\n{}",
        overload("openai-responses")
    );
    let wires = wires();
    let wire = wires
        .iter()
        .find(|wire| wire.provider == "openai-responses")
        .expect("it is in the table");
    let world = world(wire.provider)
        .reply(body(wire, &[&first]))
        .reply(whole(wire))
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let messages = world.machine.transcript().messages();
    assert!(
        !messages
            .iter()
            .any(|message| matches!(message, Message::Reasoning(_))),
        "{messages:?}"
    );
    let told: Vec<_> = world
        .seen
        .events()
        .filter_map(|event| match event {
            RunEvent::AgUi(Event::ReasoningMessageStart(_)) => Some("start"),
            RunEvent::AgUi(Event::ReasoningMessageEnd(_)) => Some("end"),
            RunEvent::Retrying { .. } => Some("retrying"),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["start", "retrying", "end"]);
    world.assert_valid_history();
}

#[test]
fn retries_a_stop_reason_that_is_an_error_before_content() {
    for (provider, first) in [
        (
            "openai-compatible",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n",
        ),
        (
            "gemini",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}\n\n",
        ),
    ] {
        let wires = wires();
        let wire = wires.iter().find(|wire| wire.provider == provider);
        let wire = wire.expect("it is in the table");
        let world = world(provider)
            .reply(body(wire, &[first]))
            .reply(whole(wire))
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{provider}");
        assert_eq!(world.seen.requests().len(), 2, "{provider}");
    }
}
