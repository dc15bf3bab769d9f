//! The reference server `@modelcontextprotocol/server-everything`, which is not ours: `cargo xtask test mcp` installs
//! it and names its program in `STEPWELL_MCP_REFERENCE`. Without that these tests are ignored.

use crate::agents::{IntoChat as _, serve};
use crate::support::*;
use crate::turns;
use serde_json::{Value, json};
use std::process::Stdio;
use stepwell_io::mcp::{McpServerConfig, McpServers};
use stepwell_io::turn::Outcome;
use stepwell_mock_llm::Hop;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub(crate) const PROGRAM: &str = "STEPWELL_MCP_REFERENCE";

const SLOW: &str = "test__trigger-long-running-operation";

fn program() -> String {
    std::env::var(PROGRAM).expect("the suite names the program")
}

async fn connect(config: McpServerConfig) -> McpServers {
    let servers = McpServers::connect(one(config), options()).await;
    servers.expect("the reference server answers")
}

async fn over_stdio() -> McpServers {
    connect(McpServerConfig::stdio("node", [program()])).await
}

/// The server over HTTP, as soon as it listens.
async fn over_http(port: u16) -> Child {
    let mut child = Command::new("node")
        .args([program().as_str(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("node starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    loop {
        let line = lines.next_line().await.expect("text");
        let line = line.expect("the server listens before it ends");
        if line.contains("listening on port") {
            // A closed pipe would end the server with the next line.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return child;
        }
    }
}

/// Returns a free port, below those that a system gives out by itself: no connection takes it in between. The tests of
/// the host take those from 28000 on, xtask those below 24000.
fn free_port() -> u16 {
    let mut ports = (24_000..28_000)
        .cycle()
        .skip(std::process::id() as usize % 4_000);
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}

/// A call that takes long, in steps of a tenth of a second.
fn long() -> Value {
    json!({ "duration": 3600, "steps": 36000 })
}

/// Lists, calls and gets errors.
async fn is_of_use(servers: &McpServers) {
    let sum = definition(servers, "test__get-sum");
    let schema = sum.definition.parameters.expect("a schema");
    assert_eq!(schema["properties"]["a"]["type"], "number");
    assert_eq!(schema["required"], json!(["a", "b"]));
    assert!(sum.idempotent, "it only reads");
    assert!(!sum.definition.description.is_empty());

    let echo = text(servers, "test__echo", json!({ "message": "Grüße" })).await;
    assert_eq!(echo, "Echo: Grüße");
    let sum = text(servers, "test__get-sum", json!({ "a": 2, "b": 40 })).await;
    assert!(sum.contains("42"), "{sum}");
    let weather = json!({ "location": "Chicago" });
    let weather = text(servers, "test__get-structured-content", weather).await;
    let weather: Value = serde_json::from_str(&weather).expect("it is given once");
    assert_eq!(weather["humidity"], 82);

    let image = call(servers, "test__get-tiny-image", json!({})).await;
    let image = serde_json::to_value(parts(image.expect("an image"))).expect("JSON");
    let images: Vec<_> = image.as_array().expect("parts").iter().collect();
    let image = images.iter().find(|part| part["type"] == "image");
    let source = &image.expect("an image")["source"];
    assert_eq!(source["mimeType"], "image/png");
    let data = source["value"].as_str().expect("base64");
    assert!(data.starts_with("iVBORw0KGgo"), "{data}");

    let resource = json!({ "resourceType": "Text", "resourceId": 1 });
    let resource = call(servers, "test__get-resource-reference", resource).await;
    let resource = serde_json::to_value(parts(resource.expect("a resource"))).expect("JSON");
    let parts = resource.as_array().expect("parts");
    let uri = |part: &&Value| part["metadata"]["uri"].is_string();
    assert_eq!(parts.iter().filter(uri).count(), 1, "{resource}");

    let wrong = error(servers, "test__get-sum", json!({ "a": "two", "b": 40 })).await;
    assert!(wrong.contains("expected number"), "{wrong}");
    let wrong = json!({ "resourceType": "Text", "resourceId": -1 });
    let wrong = error(servers, "test__get-resource-reference", wrong).await;
    assert!(wrong.contains("Invalid resourceId"), "{wrong}");
}

pub(crate) async fn it_lists_calls_and_fails_over_stdio() {
    let servers = over_stdio().await;
    is_of_use(&servers).await;
    servers.close().await;
}

pub(crate) async fn a_slow_call_is_cancelled_over_stdio() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("sent.jsonl");
    // The pipe keeps what the client sends.
    let pipe = r#"tee "$1" | node "$0""#;
    let log_path = log.to_string_lossy().into_owned();
    let arguments = ["-c".to_owned(), pipe.to_owned(), program(), log_path];
    let servers = connect(McpServerConfig::stdio("sh", arguments)).await;
    let mut events = servers.events();
    tokio::select! {
        _ = call(&servers, SLOW, long()) => panic!("it takes an hour"),
        _ = wait_for(&mut events, progress) => {}
    }
    // The server continues.
    let echo = text(&servers, "test__echo", json!({ "message": "still here" })).await;
    assert_eq!(echo, "Echo: still here");
    servers.close().await;
    let sent = std::fs::read_to_string(&log).expect("the log is there");
    let sent: Vec<Value> = sent
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let find = |method: &str| sent.iter().position(|sent| sent["method"] == method);
    let call = find("tools/call").expect("the call");
    let cancel = find("notifications/cancelled").expect("the cancel");
    assert!(call < cancel, "{sent:#?}");
    assert_eq!(sent[cancel]["params"]["requestId"], sent[call]["id"]);
}

pub(crate) async fn it_is_killed_in_the_middle_over_stdio() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("pid");
    let start = r#"echo $$ > "$1"; exec node "$0""#;
    let path = file.to_string_lossy().into_owned();
    let arguments = ["-c".to_owned(), start.to_owned(), program(), path];
    let servers = connect(McpServerConfig::stdio("sh", arguments)).await;
    let mut events = servers.events();
    let pid = || std::fs::read_to_string(&file).expect("the server has begun");
    let first = pid();
    let kill = async {
        wait_for(&mut events, progress).await;
        let killed = std::process::Command::new("kill")
            .args(["-KILL", first.trim()])
            .status();
        assert!(killed.expect("kill runs").success());
    };
    let (failed, ()) = tokio::join!(error(&servers, SLOW, long()), kill);
    assert!(failed.contains("SIGKILL"), "{failed}");
    is_of_use(&servers).await;
    assert_ne!(pid(), first, "it is another process");
    servers.close().await;
}

pub(crate) async fn all_of_it_goes_over_http() {
    let port = free_port();
    let mut child = over_http(port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = connect(McpServerConfig::http(url)).await;
    is_of_use(&servers).await;
    let mut events = servers.events();
    tokio::select! {
        _ = call(&servers, SLOW, long()) => panic!("it takes an hour"),
        _ = wait_for(&mut events, progress) => {}
    }
    is_of_use(&servers).await;

    let mut events = servers.events();
    let kill = async {
        wait_for(&mut events, progress).await;
        child.kill().await.expect("it is killed");
    };
    let (failed, ()) = tokio::join!(error(&servers, SLOW, long()), kill);
    assert!(failed.starts_with("the MCP server `test` "), "{failed}");
    let failed = error(&servers, "test__echo", json!({ "message": "hello" })).await;
    assert!(failed.starts_with("the MCP server `test` "), "{failed}");
    // Another one is started at its place: it does not know the session.
    let mut child = over_http(port).await;
    is_of_use(&servers).await;
    servers.close().await;
    child.kill().await.expect("it is killed");
}

pub(crate) async fn a_turn_calls_it() {
    let servers = over_stdio().await;
    let sum = json!({ "a": 2, "b": 40 });
    let model = serve([
        Hop::new()
            .tool_call("test__get-sum", sum)
            .tool_call("test__get-tiny-image", json!({})),
        Hop::new().text("It is 42."),
    ])
    .await;
    let agent = turns::agent(&model, &servers).chat();
    let finished = agent.send("What is 2 + 40?").finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(finished.transcript.text().ends_with("It is 42."));
    let results = turns::results(&model.requests()[1].body);
    assert!(results[0].to_string().contains("42"), "{}", results[0]);
    assert!(
        results[1].to_string().contains("iVBORw0KGgo"),
        "{}",
        results[1]
    );
    assert!(model.failures().is_empty(), "{:?}", model.failures());
    servers.close().await;
}
