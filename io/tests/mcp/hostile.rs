//! Servers that give too much, nothing, or something else.

use crate::support::*;
use serde_json::json;
use std::time::Duration;
use stepwell_io::mcp::{McpError, McpEvent, McpServerConfig, McpServers};

async fn refused(config: McpServerConfig) -> String {
    let refused = McpServers::connect(one(config), options()).await;
    refused.expect_err("the server is of no use").to_string()
}

pub(crate) async fn too_many_and_too_large_tools_are_left_out() {
    let mut options = options();
    options.limits.tools = 20;
    options.limits.tool_bytes = 4096;
    let servers = start_with("many", options).await;
    let names = names(&servers);
    assert_eq!(names.len(), 20);
    assert!(
        !names.contains(&"test__wordy".to_owned()),
        "it is too large"
    );
    assert!(
        !names.contains(&"test__broken".to_owned()),
        "its schema is none"
    );
    assert!(
        !names.contains(&"test__costly".to_owned()),
        "a check would take too long"
    );
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with("test__echo"))
            .count(),
        1,
        "it is there twice"
    );
    servers.close().await;
}

pub(crate) async fn a_large_result_is_cut() {
    let mut options = options();
    options.limits.result_bytes = 1000;
    let servers = start_with("plain", options).await;
    let large = text(&servers, "test__large", json!({ "bytes": 1500 })).await;
    assert!(large.starts_with(&"x".repeat(1000)), "{large}");
    assert!(
        large.ends_with("x… [500 more bytes were left out]"),
        "{large}"
    );
    let whole = text(&servers, "test__large", json!({ "bytes": 1000 })).await;
    assert_eq!(whole, "x".repeat(1000));
    servers.close().await;
}

pub(crate) async fn a_message_beyond_all_bounds_ends_the_connection() {
    let mut options = options();
    options.limits.message_bytes = 64 << 10;
    let servers = start_with("plain", options).await;
    let mut events = servers.events();
    let failed = error(&servers, "test__large", json!({ "bytes": 1_000_000 })).await;
    assert_eq!(
        failed,
        "the MCP server `test` was lost during the call: it sent a message of more than 65536 bytes; whether the call \
         did its work is not known, and the server is started again"
    );
    let lost = wait_for(&mut events, |event| match event {
        McpEvent::Lost {
            reason, restarts, ..
        } => Some((reason, restarts)),
        _ => None,
    });
    let (reason, restarts) = lost.await;
    assert!(
        reason.starts_with("it sent a message of more than 65536 bytes"),
        "{reason}"
    );
    assert!(restarts);
    let arguments = json!({ "text": "again" });
    assert_eq!(text(&servers, "test__echo", arguments).await, "again");
    servers.close().await;
}

pub(crate) async fn words_that_are_no_protocol_do_no_harm() {
    let servers = start("chatty").await;
    let arguments = json!({ "text": "still here" });
    assert_eq!(text(&servers, "test__echo", arguments).await, "still here");
    servers.close().await;
}

pub(crate) async fn answers_that_cannot_be_read_end_their_calls() {
    let servers = start("raw").await;
    let half = r#"{"content":[{"type":"text","text":"caf\udce9.txt"}]}"#;
    let repaired = text(&servers, "test__raw", json!({ "result": half })).await;
    assert_eq!(repaired, "caf\u{fffd}.txt");
    for result in [
        r#"{"content":[{"type":"text","text":"a\x"}]}"#,
        r#"{"content":[],"structuredContent":{"degrees":NaN}}"#,
        r#"{"content":[{"type":"te"#,
    ] {
        let failed = error(&servers, "test__raw", json!({ "result": result })).await;
        assert!(failed.contains("cannot be read"), "{failed}");
    }
    let arguments = json!({ "text": "still here" });
    assert_eq!(text(&servers, "test__echo", arguments).await, "still here");
    servers.close().await;
}

pub(crate) async fn a_silent_server_is_given_up_in_time() {
    // The clock is paused, and advances only when no task runs.
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    let refused = McpServers::connect(one(child("silent")), options()).await;
    let McpError::Server { server, reason } = refused.expect_err("it never answers") else {
        panic!("the server is named");
    };
    assert_eq!(server, "test");
    assert!(
        reason.starts_with("it did not answer the handshake within 60 seconds"),
        "{reason}"
    );
    assert!(begin.elapsed() >= Duration::from_secs(60));
}

pub(crate) async fn a_server_that_ends_at_once_gives_the_reason() {
    assert_eq!(
        refused(child("broken")).await,
        "the MCP server `test` cannot be used: it broke off the handshake; it ended with exit status: 3; the last \
         line of its standard error is `no licence was found`"
    );
}

pub(crate) async fn a_program_that_does_not_exist_is_named() {
    let none: [&str; 0] = [];
    let refused = refused(McpServerConfig::stdio("no-such-program", none)).await;
    assert!(
        refused.starts_with(
            "the MCP server `test` cannot be used: `no-such-program` cannot be started: "
        ),
        "{refused}"
    );
}

pub(crate) async fn names_that_are_the_same_are_refused() {
    let mut config = one(child("plain"));
    config.servers.insert("a b".to_owned(), child("plain"));
    config.servers.insert("a.b".to_owned(), child("plain"));
    let refused = McpServers::connect(config, options()).await;
    let same = McpError::SameName {
        first: "a b".to_owned(),
        second: "a.b".to_owned(),
    };
    assert_eq!(refused.expect_err("the names clash"), same);
}
