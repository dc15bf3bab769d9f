use crate::chat::{chat, model};
use crate::file::File;
use serde_json::json;
use std::path::{Path, PathBuf};
use stepwell_mock_llm::{Hop, Script};

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/mcp-server.sh")
}

fn greeting(tool: &str) -> Script {
    Script::new()
        .hop(Hop::new().tool_call(tool, json!({})))
        .hop(Hop::new().text("I have greeted them."))
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_has_the_tools_of_a_server() {
    let model = model(greeting("mcp-server__greet")).await;
    let server = format!("GREETING='Good day' sh '{}'", server().display());
    let ran = chat(&model, &["--mcp", &server], "Greet them.\n").succeeded();
    assert_eq!(
        ran.out,
        "✓ mcp-server__greet {} → Good day, whoever you are\nI have greeted them.\n"
    );
    let requests = model.requests();
    let tools = requests[0].body["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 3, "beside the clock and the calculator");
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_user_may_be_asked_before_a_servers_tool() {
    let model = model(greeting("mcp-server__greet")).await;
    let server = format!("sh '{}'", server().display());
    let arguments = ["--mcp", &server, "--ask-before", "mcp-server__greet"];
    let ran = chat(&model, &arguments, "Greet them.\nno\n").succeeded();
    assert!(ran.out.contains("? mcp-server__greet {}\n"), "{}", ran.out);
    assert!(ran.out.contains("✗ mcp-server__greet {} → "), "{}", ran.out);
    assert!(model.failures().is_empty(), "{:?}", model.failures());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn servers_come_from_a_file_too() {
    let servers = json!({ "mcpServers": {
        "greeter": {
            "type": "stdio",
            "command": "sh",
            "args": [server()],
            "env": { "GREETING": "Hei" },
            "autoApprove": ["greet"],
        },
        "asleep": { "command": "no-such-program", "disabled": true },
    } });
    let file = File::with("mcp.json", servers.to_string());
    let model = model(greeting("greeter__greet")).await;
    let path = file.as_str();
    let ran = chat(&model, &["--mcp-config", path], "Greet them.\n").succeeded();
    assert!(
        ran.out
            .starts_with("✓ greeter__greet {} → Hei, whoever you are\n"),
        "{}",
        ran.out
    );
    std::fs::write(path, r#"{"mcpServers": {"a": {"key": "hush"}}}"#).expect("written");
    let ran = chat(&model, &["--mcp-config", path], "Greet them.\n");
    let said = ran.failed(2);
    assert!(said.contains("a server has `command`, or `url`"), "{said}");
    assert!(!said.contains("hush"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_used_is_named() {
    let model = model(Script::new()).await;
    let ran = chat(&model, &["--mcp", "no-such-program --fast"], "Hello\n");
    let said = ran.failed(1);
    assert!(
        said.starts_with(
            "the MCP server `no-such-program` cannot be used: `no-such-program` cannot be started: "
        ),
        "{said}"
    );
    let ran = chat(&model, &["--mcp", "a 'b"], "Hello\n");
    assert!(ran.failed(2).starts_with("--mcp `a 'b`: "), "{}", ran.err);
    assert!(model.requests().is_empty());
}
