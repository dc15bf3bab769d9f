//! The server's counts, and the contents of its log.

use crate::server::{Server, asks, refusal};
use crate::stream::events;
use reqwest::header;
use std::process::Stdio;

async fn metrics(server: &Server) -> String {
    let response = server.get("/metrics").await;
    assert_eq!(response.status(), 200);
    let media_type = &response.headers()[header::CONTENT_TYPE];
    assert_eq!(
        media_type,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    response.text().await.expect("text")
}

#[tokio::test]
async fn runs_hops_tools_and_errors_are_counted() {
    let server = Server::start(&[]);
    events(server.run(&asks("one", "What are the numbers?")).await).await;
    events(server.run(&asks("two", "fail")).await).await;
    let text = metrics(&server).await;
    for line in [
        "stepwell_runs_started_total 2",
        "stepwell_runs_active 0",
        "stepwell_runs_completed_total{outcome=\"success\"} 1",
        "stepwell_runs_completed_total{outcome=\"error\"} 1",
        "stepwell_run_duration_seconds_count 2",
        "stepwell_tool_calls_total{tool=\"get_secret_number\",status=\"completed\"} 2",
        "stepwell_tool_duration_seconds_count{tool=\"get_secret_number\"} 2",
        "stepwell_continuation_duration_seconds_count 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in:\n{text}");
    }
    assert!(text.contains("stepwell_run_errors_total{code=\""), "{text}");
    assert!(
        text.contains("stepwell_tokens_total{direction=\"output\"}"),
        "{text}"
    );
    assert!(text.contains("stepwell_hops_total 3"), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn metrics_are_behind_the_token() {
    let server = Server::start(&["--token", "open-sesame"]);
    let refused = refusal(server.get("/metrics").await).await;
    assert_eq!(refused, (401, "unauthorized".to_owned()));
    let request = server.request("GET", "/metrics").bearer_auth("open-sesame");
    assert_eq!(request.send().await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn the_log_has_runs_and_none_of_their_content() {
    for format in ["text", "json"] {
        let server = Server::start_logged(
            &["--log-format", format, "--token", "open-sesame"],
            "info",
            Stdio::piped(),
        );
        for (run, question) in [
            ("r1", "What of kumquats?"),
            ("r2", "fail kumquats"),
            ("r3", "think of kumquats"),
        ] {
            let request = server.post(&asks(run, question)).bearer_auth("open-sesame");
            let answer = request.send().await.expect("an answer");
            assert!(!events(answer).await.is_empty());
        }
        let text = server.log().await;
        assert!(
            text.contains("a turn begins") && text.contains("a turn is over"),
            "{text}"
        );
        for secret in ["kumquats", "open-sesame", "Alice", "secret number of"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        for line in text.lines().filter(|_| format == "json") {
            let line: serde_json::Value =
                serde_json::from_str(line).expect("one JSON object a line");
            assert!(line["timestamp"].is_string() && line["level"].is_string());
        }
    }
}
