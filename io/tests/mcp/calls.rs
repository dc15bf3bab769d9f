//! Tools, calls and their results, over standard input and output.

use crate::server::{MANNER, PIXEL};
use crate::support::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stepwell_core::event::{ContentPart, Source};
use stepwell_io::mcp::{McpApproval, McpEvent, McpServerConfig, McpServers};
use stepwell_io::tool::ToolSource;

pub(crate) async fn each_tool_has_a_name_a_schema_and_hints() {
    let servers = start("plain").await;
    assert_eq!(servers.names().collect::<Vec<_>>(), ["test"]);
    assert_eq!(
        names(&servers),
        [
            "test__echo",
            "test__set_name_of",
            "test__fail",
            "test__refuse",
            "test__media",
            "test__structured",
            "test__slow",
            "test__cancelled",
            "test__grow",
            "test__about",
            "test__large",
        ],
        "three pages of tools"
    );
    let echo = definition(&servers, "test__echo");
    assert_eq!(echo.definition.description, "The tool echo.");
    assert_eq!(
        echo.definition.parameters,
        Some(json!({
            "type": "object",
            "properties": { "text": { "type": "string", "minLength": 1 } },
            "required": ["text"],
        }))
    );
    let idempotent = |name| definition(&servers, name).idempotent;
    assert!(idempotent("test__echo"), "it only reads");
    assert!(idempotent("test__set_name_of"), "it says so");
    assert!(!idempotent("test__fail"), "it says nothing");
    assert!(
        servers
            .tools()
            .iter()
            .all(|tool| !tool.tool.requires_approval)
    );
    servers.close().await;
}

pub(crate) async fn approval_is_asked_for_as_the_app_wants_it() {
    let mut options = options();
    options.approval = McpApproval::Destructive;
    let servers = start_with("plain", options.clone()).await;
    let asks = |servers: &McpServers, name| definition(servers, name).requires_approval;
    assert!(!asks(&servers, "test__echo"), "it only reads");
    assert!(
        !asks(&servers, "test__set_name_of"),
        "it says that it destroys nothing"
    );
    assert!(
        asks(&servers, "test__fail"),
        "it says nothing, which is yes"
    );
    servers.close().await;

    options.approval = McpApproval::Always;
    let servers = start_with("plain", options).await;
    assert!(
        servers
            .tools()
            .iter()
            .all(|tool| tool.tool.requires_approval)
    );
    servers.close().await;
}

pub(crate) async fn a_call_gives_what_the_tool_gave() {
    let servers = start("plain").await;
    let arguments = json!({ "text": "Grüße\n\"🌊\"" });
    assert_eq!(
        text(&servers, "test__echo", arguments).await,
        "Grüße\n\"🌊\""
    );
    // A name that no provider would take is the server's own again.
    assert_eq!(
        text(&servers, "test__set_name_of", Value::Null).await,
        "set"
    );
    let all = (0..20).map(|index| {
        let servers = &servers;
        async move { text(servers, "test__echo", json!({ "text": index.to_string() })).await }
    });
    let all = futures::future::join_all(all).await;
    let expected: Vec<_> = (0..20).map(|index| index.to_string()).collect();
    assert_eq!(all, expected, "calls side by side");
    servers.close().await;
}

pub(crate) async fn errors_are_results_that_the_model_sees() {
    let servers = start("plain").await;
    assert_eq!(
        error(&servers, "test__fail", json!({})).await,
        "the disk is full\n[1 parts were left out]"
    );
    assert_eq!(
        error(&servers, "test__refuse", json!({})).await,
        "the MCP server `test` refused the call: no such folder (error -32602)"
    );
    assert_eq!(
        error(&servers, "test__echo", json!([1])).await,
        "the arguments of this tool must be a JSON object"
    );
    servers.close().await;
}

pub(crate) async fn media_and_resources_are_kept() {
    let servers = start("plain").await;
    let result = call(&servers, "test__media", json!({})).await;
    let parts = parts(result.expect("the call succeeds"));
    let kept = serde_json::to_value(&parts).expect("JSON");
    let data = |kind: &str, value: &str, mime: &str| json!({ "type": kind, "source": { "type": "data", "value": value, "mimeType": mime } });
    assert_eq!(kept[0], json!({ "type": "text", "text": "a pixel:" }));
    assert_eq!(kept[1], data("image", PIXEL, "image/png"));
    assert_eq!(kept[2], data("audio", "AAAA", "audio/wav"));
    assert_eq!(
        kept[3],
        json!({
            "type": "text",
            "text": "buy milk",
            "metadata": { "uri": "file:///notes.txt", "mimeType": "text/plain" },
        })
    );
    let mut document = data("document", "AAAA", "application/pdf");
    document["metadata"] = json!({ "uri": "file:///a.pdf" });
    assert_eq!(kept[4], document);
    let link: Value = serde_json::from_str(kept[5]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(link, json!({ "uri": "file:///b.txt", "name": "b" }));
    // No provider could read what is no base64.
    assert_eq!(kept[6]["text"], "[1 parts were left out]");
    assert_eq!(parts.len(), 7);
    assert!(matches!(
        &parts[1],
        ContentPart::Image(image) if matches!(image.source, Source::Data { .. })
    ));
    servers.close().await;
}

pub(crate) async fn what_is_structured_is_given_once() {
    let servers = start("plain").await;
    let name = "test__structured";
    let once = text(&servers, name, json!({ "as_text_too": true })).await;
    assert_eq!(once, r#"{"degrees":21}"#);
    let beside = text(&servers, name, json!({ "as_text_too": false })).await;
    assert_eq!(beside, "It is warm.\n{\"degrees\":21}");
    servers.close().await;
}

pub(crate) async fn progress_is_reported_with_its_call() {
    let servers = start("plain").await;
    let mut events = servers.events();
    let slow = call(&servers, "test__slow", json!({}));
    let told = async {
        let first = wait_for(&mut events, progress).await;
        (first, wait_for(&mut events, progress).await)
    };
    let (first, second) = tokio::select! {
        _ = slow => panic!("it ends only when it is cancelled"),
        told = told => told,
    };
    let expected = |progress, message: &str| McpEvent::Progress {
        server: "test".to_owned(),
        tool: "test__slow".to_owned(),
        tool_call_id: "call-of-test__slow".into(),
        progress,
        total: Some(2.0),
        message: Some(message.to_owned()),
    };
    assert_eq!(first, expected(1.0, "one half"));
    assert_eq!(
        second,
        expected(1.5, "three quarters"),
        "progress never goes back"
    );
    servers.close().await;
}

pub(crate) async fn a_call_that_is_dropped_is_cancelled_on_the_server() {
    let servers = start("plain").await;
    for cancelled in [1, 2] {
        let mut events = servers.events();
        tokio::select! {
            _ = call(&servers, "test__slow", json!({})) => panic!("it ends only when it is cancelled"),
            _ = wait_for(&mut events, progress) => {}
        }
        // This call waits until the server has seen the cancel.
        let seen = text(&servers, "test__cancelled", json!({ "times": cancelled })).await;
        assert_eq!(seen, cancelled.to_string());
    }
    servers.close().await;
}

pub(crate) async fn tools_that_change_are_there_in_the_next_turn() {
    let servers = start("plain").await;
    let before = servers.tools();
    assert!(
        std::sync::Arc::ptr_eq(&before, &servers.tools()),
        "nothing has changed"
    );
    let mut events = servers.events();
    assert_eq!(text(&servers, "test__grow", json!({})).await, "grown");
    let count = wait_for(&mut events, |event| match event {
        McpEvent::ToolsChanged { tools, .. } => Some(tools),
        _ => None,
    });
    assert_eq!(count.await, before.len() + 1);
    assert_eq!(servers.tools().len(), before.len() + 1);
    assert_eq!(text(&servers, "test__grown", json!({})).await, "I am new");
    servers.close().await;
}

pub(crate) async fn environment_and_folder_are_the_childs() {
    let folder = std::env::temp_dir().canonicalize().expect("a folder");
    let mut config = child("plain");
    if let McpServerConfig::Stdio { env, cwd, .. } = &mut config {
        env.extend([
            ("STEPWELL_TEST_SECRET".to_owned(), "hush".to_owned()),
            ("GROQ_API_KEY".to_owned(), "meant for it".to_owned()),
        ]);
        *cwd = Some(folder.clone());
    }
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
    let servers = McpServers::connect(one(config), options()).await;
    let servers = servers.expect("the server starts");
    let told = about(&servers, "STEPWELL_TEST_SECRET").await;
    assert_eq!(told["variable"], "hush");
    assert_eq!(told["folder"], json!(folder));
    assert_eq!(
        about(&servers, "GROQ_API_KEY").await["variable"],
        "meant for it"
    );
    assert_eq!(about(&servers, MANNER).await["variable"], "plain");
    servers.close().await;

    // The variables that programs need to run are passed on.
    let program = std::env::current_exe().expect("this program has a path");
    let servers = McpServers::connect(
        one(McpServerConfig::Stdio {
            command: program.to_string_lossy().into_owned(),
            args: Vec::new(),
            env: BTreeMap::from([(MANNER.to_owned(), "plain".to_owned())]),
            cwd: None,
            disabled: false,
        }),
        options(),
    );
    let servers = servers.await.expect("the server starts");
    let path = std::env::var("PATH").expect("a path");
    assert_eq!(about(&servers, "PATH").await["variable"], json!(path));
    servers.close().await;
}

/// Cargo sets `CARGO_MANIFEST_DIR` for this program: it represents a password in the app's environment.
pub(crate) async fn servers_get_no_secrets_of_the_app() {
    let secret = "CARGO_MANIFEST_DIR";
    let own = std::env::var(secret).expect("cargo sets it");
    let servers = start("plain").await;
    assert_eq!(about(&servers, secret).await["variable"], json!(null));
    servers.close().await;

    let mut options = options();
    options.passed_variables = vec![secret.to_owned()];
    let servers = start_with("plain", options).await;
    assert_eq!(about(&servers, secret).await["variable"], json!(own));
    servers.close().await;

    let with = |value: &str| {
        let mut config = child("plain");
        if let McpServerConfig::Stdio { env, .. } = &mut config {
            env.insert("NAMED".to_owned(), value.to_owned());
        }
        McpServers::connect(one(config), crate::support::options())
    };
    let servers = with("${CARGO_MANIFEST_DIR}")
        .await
        .expect("the server starts");
    assert_eq!(about(&servers, "NAMED").await["variable"], json!(own));
    servers.close().await;
    let refused = with("${STEPWELL_TEST_NOT_SET}")
        .await
        .expect_err("it is not set");
    assert!(
        refused
            .to_string()
            .contains("`STEPWELL_TEST_NOT_SET`, which is not set"),
        "{refused}"
    );
}

pub(crate) async fn a_server_without_handshake_is_spoken_to_as_well() {
    let servers = start("modern").await;
    let arguments = json!({ "text": "hello" });
    assert_eq!(text(&servers, "test__echo", arguments).await, "hello");
    let mut events = servers.events();
    assert_eq!(text(&servers, "test__grow", json!({})).await, "grown");
    wait_for(&mut events, |event| {
        matches!(event, McpEvent::ToolsChanged { .. }).then_some(())
    })
    .await;
    assert_eq!(text(&servers, "test__grown", json!({})).await, "I am new");
    servers.close().await;
}

pub(crate) async fn dropped_servers_are_gone() {
    let servers = start("plain").await;
    let events = servers.events();
    let pid = about(&servers, "").await["pid"].as_u64().expect("a number");
    assert!(exists(pid));
    drop(servers);
    // The events end with the last of the server.
    assert_eq!(
        rest(events).await,
        [],
        "an end that was asked for is no loss"
    );
    assert!(
        !exists(pid),
        "it runs on, or nobody has taken note of its end"
    );

    let servers = start("plain").await;
    let pid = about(&servers, "").await["pid"].as_u64().expect("a number");
    let tool = find(&servers, "test__echo");
    servers.close().await;
    assert!(!exists(pid));
    assert_eq!(
        error(&servers, "test__echo", json!({ "text": "x" })).await,
        "the MCP server `test` cannot be called: it was closed"
    );
    drop(tool);
}
