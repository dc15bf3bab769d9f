//! Answers that are over, and why they are not whole.

use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::Message;
use stepwell_core::provider;
use stepwell_core::run::{
    Effect, EffectId, ErrorKind, Failure, Incomplete, Input, Outcome, Output, RunConfig,
    RunMachine, Start, TimerKey, TurnStatus,
};
use stepwell_core::transcript::Transcript;

/// A run of this provider whose stream brings this, after which the connection stays open.
fn answered(provider: &str, body: &str) -> (RunMachine, EffectId) {
    let now = Timestamp(0);
    let (provider, api) = match provider {
        "openai-responses" => ("openai", Some("responses")),
        provider => (provider, None),
    };
    let endpoint = provider::find(provider)
        .expect("the table has it")
        .endpoint(api, "m", Some("http://localhost/v1"), Some("k".into()))
        .expect("nothing is missing");
    let config = Arc::new(RunConfig::new(endpoint));
    let mut machine = RunMachine::new(config, "thread".into(), Transcript::default());
    let start = Start::new("run", Message::user("message", "Hello"));
    machine.start(start, now).expect("it is idle");
    let mut open = None;
    while let Some(output) = machine.poll_output() {
        if let Output::Effect(id, Effect::OpenStream { .. }) = output {
            open = Some(id);
        }
    }
    let effect = open.expect("a request goes out");
    let content_type = None;
    machine
        .handle(
            Input::Opened {
                effect,
                content_type,
            },
            now,
        )
        .expect("it is opening");
    let bytes = Cow::Borrowed(body.as_bytes());
    machine
        .handle(Input::Received { effect, bytes }, now)
        .expect("it is streaming");
    while machine.poll_output().is_some() {}
    (machine, effect)
}

/// How the turn ends when the connection has stayed open for long enough.
fn left_open(provider: &str, body: &str) -> Outcome {
    let (mut machine, _) = answered(provider, body);
    assert_eq!(
        machine.timeout_reason(),
        Some(TimerKey::Closing),
        "{provider}: {body}"
    );
    let now = machine.poll_timeout().expect("it has a deadline");
    machine.handle(Input::Timeout, now).expect("time passes");
    machine.outcome().cloned().expect("the turn is over")
}

fn chat(reason: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"A\"}}}}]}}\n\n\
         data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n"
    )
}

fn anthropic(reason: &str) -> String {
    format!(
        "data: {{\"type\":\"message_start\",\"message\":{{\"model\":\"m\",\"usage\":{{}}}}}}\n\n\
         data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"A\"}}}}\n\n\
         data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
         data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\"usage\":{{}}}}\n\n"
    )
}

fn gemini(reason: &str) -> String {
    format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"A\"}}]}},\"finishReason\":\"{reason}\"}}]}}\n\n"
    )
}

/// Gemini's answer to a prompt that it does not take.
fn blocked(reason: &str) -> String {
    format!("data: {{\"promptFeedback\":{{\"blockReason\":\"{reason}\"}}}}\n\n")
}

fn ollama(reason: &str) -> String {
    format!(
        "{{\"message\":{{\"role\":\"assistant\",\"content\":\"A\"}},\"done\":true,\"done_reason\":\"{reason}\"}}\n"
    )
}

fn cohere(reason: &str) -> String {
    format!(
        "data: {{\"type\":\"message-start\",\"id\":\"1\",\"delta\":{{\"message\":{{\"role\":\"assistant\"}}}}}}\n\n\
         data: {{\"type\":\"content-start\",\"index\":0,\"delta\":{{\"message\":{{\"content\":{{\"type\":\"text\",\"text\":\"A\"}}}}}}}}\n\n\
         data: {{\"type\":\"content-end\",\"index\":0}}\n\n\
         data: {{\"type\":\"message-end\",\"delta\":{{\"finish_reason\":\"{reason}\"}}}}\n\n"
    )
}

fn responses(end: &str) -> String {
    format!(
        "data: {{\"type\":\"response.created\",\"response\":{{\"model\":\"m\"}}}}\n\n\
         data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"A\"}}\n\n\
         data: {end}\n\n"
    )
}

fn ag_ui(reason: &str) -> String {
    format!(
        "data: {{\"type\":\"RUN_STARTED\",\"threadId\":\"thread\",\"runId\":\"run\"}}\n\n\
         data: {{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"a\",\"role\":\"assistant\"}}\n\n\
         data: {{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"a\",\"delta\":\"A\"}}\n\n\
         data: {{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"a\"}}\n\n\
         data: {{\"type\":\"RUN_FINISHED\",\"threadId\":\"thread\",\"runId\":\"run\",\"metadata\":{{\"stopReason\":\"{reason}\"}}}}\n\n"
    )
}

#[test]
fn an_answer_that_is_not_whole_says_why() {
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"REASON"},"output":[]}}"#;
    let (length, filter) = (Incomplete::Length, Incomplete::ContentFilter);
    for (provider, body, reason) in [
        ("openai-compatible", chat("stop"), None),
        ("openai-compatible", chat("length"), Some(length)),
        ("openai-compatible", chat("content_filter"), Some(filter)),
        ("mistral", chat("model_length"), Some(length)),
        ("anthropic", anthropic("end_turn"), None),
        ("anthropic", anthropic("max_tokens"), Some(length)),
        ("anthropic", anthropic("refusal"), Some(Incomplete::Refusal)),
        ("gemini", gemini("STOP"), None),
        ("gemini", gemini("MAX_TOKENS"), Some(length)),
        ("gemini", gemini("PROHIBITED_CONTENT"), Some(filter)),
        ("gemini", blocked("SAFETY"), Some(filter)),
        ("gemini", blocked("OTHER"), Some(filter)),
        ("ollama", ollama("stop"), None),
        ("ollama", ollama("length"), Some(length)),
        ("cohere", cohere("COMPLETE"), None),
        ("cohere", cohere("MAX_TOKENS"), Some(length)),
        ("ag-ui", ag_ui("stop"), None),
        ("ag-ui", ag_ui("refusal"), Some(Incomplete::Refusal)),
        ("ag-ui", ag_ui("max_tool_rounds"), Some(Incomplete::Limit)),
    ] {
        let expected = reason.map_or(Outcome::Success, |reason| Outcome::Incomplete { reason });
        assert_eq!(left_open(provider, &body), expected, "{provider}: {body}");
    }
    for (word, reason) in [("max_output_tokens", length), ("content_filter", filter)] {
        let body = responses(&incomplete.replace("REASON", word));
        let (mut machine, _) = answered("openai-responses", &body);
        let now = machine.poll_timeout().expect("it has a deadline");
        machine.handle(Input::Timeout, now).expect("time passes");
        let expected = Outcome::Incomplete { reason };
        assert_eq!(machine.outcome(), Some(&expected), "{word}");
    }
}

/// How the turn ends when the connection is closed after this.
fn closed(provider: &str, body: &str) -> Outcome {
    let (mut machine, effect) = answered(provider, body);
    let now = Timestamp(0);
    machine
        .handle(Input::Ended { effect }, now)
        .expect("it is streaming");
    machine.outcome().cloned().expect("the turn is over")
}

#[test]
fn an_answer_is_whole_that_the_connection_ends_after_its_reason_and_cut_off_before() {
    let completed =
        r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
    for (provider, body) in [
        ("openai-compatible", chat("stop")),
        ("openai-responses", responses(completed)),
        ("anthropic", anthropic("end_turn")),
        ("gemini", gemini("STOP")),
        ("ollama", ollama("stop")),
        ("mistral", chat("stop")),
        ("cohere", cohere("COMPLETE")),
        ("ag-ui", ag_ui("stop")),
    ] {
        assert_eq!(closed(provider, &body), Outcome::Success, "{provider}");
        let frames = body.split_inclusive("\n\n").count();
        let begun: String = body.split_inclusive("\n\n").take(frames - 1).collect();
        if !begun.is_empty() {
            assert_eq!(closed(provider, &begun), Outcome::Truncated, "{provider}");
        }
    }
}

#[test]
fn an_answer_that_ends_with_an_error_for_its_reason_has_failed() {
    for (provider, body, word, kind) in [
        (
            "openai-compatible",
            chat("error"),
            "error",
            ErrorKind::ServerError,
        ),
        ("mistral", chat("error"), "error", ErrorKind::ServerError),
        (
            "gemini",
            gemini("MALFORMED_FUNCTION_CALL"),
            "MALFORMED_FUNCTION_CALL",
            ErrorKind::OutputInvalid,
        ),
        ("gemini", gemini("OTHER"), "OTHER", ErrorKind::ServerError),
        (
            "gemini",
            gemini("MISSING_THOUGHT_SIGNATURE"),
            "MISSING_THOUGHT_SIGNATURE",
            ErrorKind::InvalidRequest,
        ),
        ("ag-ui", ag_ui("error"), "error", ErrorKind::ServerError),
    ] {
        let outcome = left_open(provider, &body);
        let problem = outcome.problem().expect("it is not whole");
        assert_eq!(problem.kind, kind, "{provider}: {body}");
        assert!(problem.message.ends_with(&format!("ended with `{word}`")));
        assert_eq!(outcome.turn_status(), TurnStatus::Failed);
    }
}

#[test]
fn no_problem_says_what_to_do_twice() {
    let failures = [
        Failure::Connection {
            message: "no route".to_owned(),
        },
        Failure::UnexpectedBody {
            content_type: "text/html".to_owned(),
            excerpt: "<html>".to_owned(),
        },
        Failure::ContextTooLong {
            tokens: 2,
            window: 1,
        },
    ];
    for failure in failures {
        let problem = Outcome::Failed { failure }.problem().expect("it failed");
        assert!(!problem.message.contains(';'), "{}", problem.message);
        assert_eq!(
            problem.to_string(),
            format!("{}; {}", problem.message, problem.advice)
        );
    }
}

#[test]
fn a_refusal_in_a_field_of_its_own_is_one_whatever_the_reason_says() {
    let body = "data: {\"choices\":[{\"delta\":{\"refusal\":\"I cannot\"}}]}\n\n\
                data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let reason = Incomplete::Refusal;
    assert_eq!(
        left_open("openai-compatible", body),
        Outcome::Incomplete { reason }
    );
}

#[test]
fn an_incomplete_answer_is_a_complete_turn_with_a_problem() {
    for reason in Incomplete::ALL {
        let outcome = Outcome::Incomplete { reason };
        assert_eq!(outcome.turn_status(), TurnStatus::Complete);
        let problem = outcome.problem().expect("it is not whole");
        assert!(!problem.is_retryable && problem.message == reason.to_string());
        assert_eq!(Incomplete::of(reason.name()), Some(reason));
        let text = serde_json::to_string(&outcome).expect("plain data");
        assert_eq!(serde_json::from_str::<Outcome>(&text).ok(), Some(outcome));
    }
    assert_eq!(Outcome::Success.problem(), None);
    let problem = Outcome::Truncated.problem().expect("it is not whole");
    assert!(problem.is_retryable && problem.kind == ErrorKind::Connection);
}
