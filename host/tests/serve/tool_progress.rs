//! The progress reports of a running tool: in a run's stream, and in the log of a session.

use crate::file::File;
use crate::server::{Server, asks};
use crate::stream::{all, events};
use serde_json::{Value, json};

const SCRIPT: &str = r#"{"hops": [
    {"steps": [{"tool_call": {"name": "count_down", "arguments": {"from": 1}}}]},
    {"steps": [{"text": "Zero."}]}
]}"#;

fn progress(events: &[Value]) -> Vec<Value> {
    let custom = all(events, "CUSTOM").into_iter();
    let told = custom.filter(|event| event["name"] == "tool_progress");
    told.map(|event| event["value"].clone()).collect()
}

#[tokio::test]
async fn progress_reaches_followers_and_later_readers() {
    let file = File::new("tool-progress");
    let script = file.path().with_file_name("script.json");
    std::fs::write(&script, SCRIPT).expect("it is written");
    let script = script.to_str().expect("a path");
    let said = [json!({
        "toolCallId": "call_0_0", "toolName": "count_down", "fraction": 0.0, "message": "1 to go",
    })];
    let agent = Server::start(&["--script", script]);
    let told = events(agent.run(&asks("t", "count")).await).await;
    assert_eq!(progress(&told), said);

    let sessions = Server::start(&["--script", script, "--store", "memory"]);
    sessions.begin("t", "r", "count").await;
    for _ in 0..2 {
        let told = events(sessions.follow("t", "r", None).await).await;
        assert_eq!(progress(&told), said);
    }
}
