use crate::support::IntoChat as _;
use crate::support::{agent_at, endpoint};
use crate::{agent, lookup, secret_number, start, watch};
use futures::StreamExt;
use serde_json::json;
use stepwell_core::dialect::ApiErrorKind;
use stepwell_core::event::Event;
use stepwell_core::run::Deadline;
use stepwell_io::turn::{Failure, Outcome, RunEvent};
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn failure(outcome: &Outcome) -> &Failure {
    match outcome {
        Outcome::Failed { failure } => failure,
        other => panic!("the turn should have failed, and is {other:?}"),
    }
}

fn is_text(event: &RunEvent) -> bool {
    matches!(event, RunEvent::AgUi(Event::TextMessageContent(_)))
}

async fn ask(server: &MockLlm) -> (Vec<RunEvent>, stepwell_io::turn::Finished) {
    let agent = agent(server).tool(secret_number(), lookup).chat();
    watch(agent.send("Hello")).await
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_fails_and_keeps_the_text() {
    let server = start(Script::new().hop(Hop::new().text("The answer is").cut())).await;
    let (_, finished) = ask(&server).await;
    assert!(
        matches!(failure(&finished.outcome), Failure::Connection { .. }),
        "{:?}",
        finished.outcome
    );
    assert_eq!(finished.transcript.text(), "The answer is");
    assert_eq!(
        server.requests().len(),
        1,
        "what was shown is not asked for again"
    );
}

#[tokio::test]
async fn a_body_that_ends_too_soon_is_no_success() {
    let server = start(Script::new().hop(Hop::new().text("The answer is").end_early())).await;
    let (_, finished) = ask(&server).await;
    assert_eq!(finished.outcome, Outcome::Truncated);
    assert_eq!(finished.transcript.text(), "The answer is");
}

#[tokio::test]
async fn calls_of_a_stream_that_broke_off_are_not_run() {
    let hop = Hop::new()
        .tool_call("get_secret_number", json!({"name": "alice"}))
        .cut();
    let server = start(Script::new().hop(hop).hop(Hop::new().text("Never mind."))).await;
    let agent = agent(&server)
        .tool(secret_number(), |_| async {
            panic!("a broken stream runs nothing") as Result<String, String>
        })
        .chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    failure(&finished.outcome);
    // The history stays valid: the provider accepts the next turn.
    let (_, finished) = watch(agent.send("Again")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn a_wrong_key_fails_at_once() {
    let server = start(Script::new().hop(Hop::error(401, "Incorrect API key provided"))).await;
    let (_, finished) = ask(&server).await;
    let Failure::Api { error } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert_eq!(
        (error.kind, error.status),
        (ApiErrorKind::Authentication, 401)
    );
    assert_eq!(error.message, "Incorrect API key provided");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_rate_limit_is_waited_out() {
    let script = Script::new()
        .hop(Hop::error(429, "Slow down").header("retry-after", "0"))
        .hop(Hop::new().text("Here I am."));
    let server = start(script).await;
    let (events, finished) = ask(&server).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Here I am.");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, RunEvent::Retrying { attempt: 1, .. }))
    );
}

#[tokio::test]
async fn a_rate_limit_longer_than_anyone_waits_fails() {
    let server =
        start(Script::new().hop(Hop::error(429, "Quota used up").header("retry-after", "86400")))
            .await;
    let (_, finished) = ask(&server).await;
    let Failure::Api { error } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert_eq!(error.kind, ApiErrorKind::RateLimit);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_error_is_tried_again_and_then_fails() {
    let mut script = Script::new();
    for _ in 0..4 {
        script = script.hop(Hop::error(500, "The server had an error"));
    }
    let server = start(script).await;
    let (_, finished) = ask(&server).await;
    let Failure::Api { error } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert_eq!((error.kind, error.status), (ApiErrorKind::ServerError, 500));
    assert_eq!(server.requests().len(), 4, "as often as the policy says");
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let server = start(Script::new().hop(Hop::html(200))).await;
    let (_, finished) = ask(&server).await;
    let Failure::UnexpectedBody {
        content_type,
        excerpt,
    } = failure(&finished.outcome)
    else {
        panic!("{:?}", finished.outcome)
    };
    assert_eq!(content_type, "text/html");
    assert!(excerpt.contains('<'), "{excerpt}");
}

#[tokio::test]
async fn a_json_error_with_status_200_is_an_error() {
    let body =
        json!({"error": {"message": "The model is not there", "type": "invalid_request_error"}});
    let server = start(Script::new().hop(Hop::status(200).body(body))).await;
    let (_, finished) = ask(&server).await;
    let Failure::Api { error } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert_eq!(error.message, "The model is not there");
}

#[tokio::test]
async fn an_error_in_the_stream_fails_and_keeps_the_text() {
    let server =
        start(Script::new().hop(Hop::new().text("Well, ").error_event("overloaded"))).await;
    let (_, finished) = ask(&server).await;
    let Failure::Reported { error, .. } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert!(error.message.contains("overloaded"));
    assert_eq!(finished.transcript.text(), "Well, ");
}

#[tokio::test]
async fn a_frame_that_is_not_json_fails_with_its_place() {
    let server =
        start(Script::new().hop(Hop::new().text("Well").raw_frame("{\"choices\":[{]}"))).await;
    let (_, finished) = ask(&server).await;
    let Failure::Stream { message } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert!(message.starts_with("frame "), "{message}");
    assert_eq!(finished.transcript.text(), "Well");
}

#[tokio::test]
async fn a_connection_closed_before_the_answer_is_tried_again() {
    let server = start(
        Script::new()
            .hop(Hop::hang_up())
            .hop(Hop::new().text("Back.")),
    )
    .await;
    let (_, finished) = ask(&server).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Back.");
}

#[tokio::test]
async fn an_address_without_a_listener_fails_in_the_end() {
    // A port that is never assigned: one that was free a moment ago may be another test's by now.
    let endpoint = endpoint("openai-compatible", "m", "http://127.0.0.1:2/v1", None);
    let agent = agent_at(endpoint)
        .configure(|config| config.retry.attempts = 2)
        .chat();
    let (events, finished) = watch(agent.send("Hello")).await;
    assert!(matches!(
        failure(&finished.outcome),
        Failure::Connection { .. }
    ));
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, RunEvent::Retrying { .. }))
            .count(),
        1
    );
}

#[tokio::test]
async fn a_silent_model_is_not_waited_for_for_ever() {
    let server = start(Script::new().hop(Hop::new().text("Hm").stall())).await;
    let agent = agent(&server).chat();
    let mut turn = agent.send("Hello");
    while turn.next().await.is_some_and(|event| !is_text(&event)) {}
    // The clock moves on only when nothing else does.
    tokio::time::pause();
    let (_, finished) = watch(turn).await;
    assert_eq!(
        *failure(&finished.outcome),
        Failure::TimedOut {
            deadline: Deadline::Silence
        }
    );
    assert_eq!(finished.transcript.text(), "Hm");
}
