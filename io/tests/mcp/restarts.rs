//! Servers that die.

use crate::support::*;
use serde_json::json;
use stepwell_io::mcp::{McpEvent, McpEvents};

async fn lost(events: &mut McpEvents) -> (String, bool) {
    wait_for(events, |event| match event {
        McpEvent::Lost {
            reason, restarts, ..
        } => Some((reason, restarts)),
        _ => None,
    })
    .await
}

pub(crate) async fn a_server_that_is_killed_gives_an_error_and_is_started_again() {
    let servers = start("plain").await;
    let mut events = servers.events();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let pid = about(&servers, "").await["pid"].as_u64().expect("a number");
        assert!(!seen.contains(&pid), "another process");
        let kill = async {
            wait_for(&mut events, progress).await;
            let killed = std::process::Command::new("kill")
                .args(["-KILL", &pid.to_string()])
                .status();
            assert!(killed.expect("kill runs").success());
        };
        let slow = error(&servers, "test__slow", json!({}));
        let (failed, ()) = tokio::join!(slow, kill);
        assert_eq!(
            failed,
            "the MCP server `test` was lost during the call: it ended with signal: 9 (SIGKILL); whether the call did \
             its work is not known, and the server is started again"
        );
        assert!(!exists(pid), "it is left as a zombie");
        // The next call waits for the next process.
        let arguments = json!({ "text": "here again" });
        assert_eq!(text(&servers, "test__echo", arguments).await, "here again");
        let (reason, restarts) = lost(&mut events).await;
        assert!(reason.contains("SIGKILL"), "{reason}");
        assert!(restarts, "a server that was of use is always started again");
        seen.push(pid);
    }
    servers.close().await;
}

pub(crate) async fn restarts_come_to_an_end_and_a_call_tries_once_more() {
    let mut options = options();
    options.max_restarts = 2;
    let servers = start_with("doomed", options).await;
    let mut events = servers.events();
    let mut restarts = Vec::new();
    for _ in 0..3 {
        let (reason, goes_on) = lost(&mut events).await;
        assert!(
            reason.ends_with(
                "it ended with exit status: 7; the last line of its standard error is `out of luck`"
            ),
            "{reason}"
        );
        restarts.push(goes_on);
    }
    assert_eq!(restarts, [true, true, false]);
    // Nothing starts it now but a call, and each call once.
    for _ in 0..2 {
        let failed = error(&servers, "test__echo", json!({ "text": "hello" })).await;
        assert!(failed.starts_with("the MCP server `test` "), "{failed}");
        assert!(failed.contains("exit status: 7"), "{failed}");
        let (_, goes_on) = lost(&mut events).await;
        assert!(!goes_on);
    }
    servers.close().await;
}
